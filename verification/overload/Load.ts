/**
 * Load client: callers, and one private socket for each user. Callers of `run` do not pause, and repeat a refused request at once.
 * Those of `sustain` send at a rate, and those of `begin` until `end`.
 */
import { serve } from "../harness/LoadProcess.ts"
import { LOAD_WAIT_MS, sleep, until } from "../harness/Wait.ts"
import { Acknowledged } from "./Acknowledged.ts"
import type { Caller } from "./Caller.ts"
import { Follower } from "./Follower.ts"
import { callersOf, FAR, limitOrder } from "./Orders.ts"
import { Pacer } from "./Pacer.ts"
import type { Calls, Plan, Recovery, Report, SustainedPlan, SustainedReport, User } from "./Plan.ts"
import { Seconds } from "./Seconds.ts"

/** Measures the time until the gateway is ready, accepts an order and delivers its event. */
const recover = async (port: number, user: User, follower: Follower): Promise<Recovery> => {
  const began = performance.now()
  const url = `http://127.0.0.1:${port}`
  const since = () => performance.now() - began
  const times: { -readonly [K in keyof Recovery]: Recovery[K] } = {
    ready_ms: undefined,
    accepted_ms: undefined,
    shown_ms: undefined
  }
  const ready = until("GET /ready returns 200", async () => (await fetch(`${url}/ready`)).status === 200).then(
    () => (times.ready_ms = since()),
    () => {}
  )
  for (let tries = 0; since() < LOAD_WAIT_MS; tries++) {
    const order_link_id = `after-${tries}`
    const shown = follower.sees(order_link_id).then(() => (times.shown_ms = since()))
    const answer = await fetch(`${url}/api/v1/order/create`, {
      method: "POST",
      headers: { authorization: `Bearer ${user.token}`, "content-type": "application/json" },
      body: JSON.stringify(limitOrder(user, "Buy", FAR, { order_link_id }))
    })
    await answer.arrayBuffer()
    if (answer.status !== 200) continue
    times.accepted_ms = since()
    await Promise.race([shown, sleep(LOAD_WAIT_MS)])
    break
  }
  await ready
  return times
}

/** Pause between two measurements of the machine, in ms. */
const PACE_MS = 50

/** Runs callers for some seconds, and records each. */
const during = async (callers: ReadonlyArray<Caller>, seconds: number, seen: Seconds): Promise<void> => {
  for (const caller of callers) caller.begin()
  const began = performance.now()
  const measuring = setInterval(() => seen.measure(), PACE_MS)
  for (let second = 1; second <= seconds; second++) {
    await sleep(Math.max(0, began + second * 1_000 - performance.now()))
    for (const caller of callers) caller.look(performance.now())
    if (second < seconds) seen.close()
  }
  seen.close()
  clearInterval(measuring)
  for (const caller of callers) caller.stop()
}

const followed = (followers: ReadonlyArray<Follower>): Promise<true> =>
  until("every private socket follows its topics", () => followers.every(({ isFollowing }) => isFollowing))
const endOf = (followers: ReadonlyArray<Follower>): { readonly deaf: number; readonly closed: number } => {
  const deaf = followers.filter(({ frames }) => frames === 0).length
  const closed = followers.filter(({ isClosed }) => isClosed).length
  for (const { ws } of followers) ws.terminate()
  return { deaf, closed }
}

const run = async (plan: Plan): Promise<Report> => {
  const { pid, port, seconds, users } = plan
  const seen = new Seconds([pid, process.pid])
  const followers = users.map((user) => new Follower(port, user, () => seen.frame()))
  await followed(followers)
  const callers = callersOf(plan, { seen })
  await during(callers, seconds, seen)
  const recovery = await recover(port, users[0]!, followers[0]!)
  for (const caller of callers) caller.end()
  return { seconds: [...seen.seconds], recovery, ...endOf(followers) }
}

const sustain = async (plan: SustainedPlan): Promise<SustainedReport> => {
  const { pid, port, rate, seconds, users } = plan
  const seen = new Seconds([pid, process.pid])
  const acknowledged = new Acknowledged()
  const followers = users.map(
    (user) =>
      new Follower(
        port,
        user,
        () => seen.frame(),
        (order_id) => acknowledged.show(order_id)
      )
  )
  await followed(followers)
  const pacer = new Pacer(rate)
  const onAccepted = (order_id: string) => acknowledged.accept(order_id)
  const callers = callersOf(plan, { seen, onAccepted, mayRequest: () => pacer.take() })
  const stop = pacer.begin(callers)
  await during(callers, seconds, seen)
  stop()
  await until("every request is answered", () => callers.every(({ isWaiting }) => !isWaiting))
  // an order that is not shown by then counts as lost
  await until("acknowledged orders are shown", () => acknowledged.unseen === 0).catch(() => {})
  for (const caller of callers) caller.end()
  const { count, unseen } = acknowledged
  const holes = followers.reduce((sum, each) => sum + each.holes, 0)
  return { seconds: [...seen.seconds], unsent: pacer.unsent, acknowledged: count, unseen, holes, ...endOf(followers) }
}

/** What a load without an end acknowledged, and its callers. */
let endless: { readonly order_ids: Array<string>; readonly callers: ReadonlyArray<Caller> } | undefined

const begin: Calls["begin"] = async (plan) => {
  const order_ids: Array<string> = []
  const seen = new Seconds([plan.pid, process.pid])
  endless = { order_ids, callers: callersOf(plan, { seen, onAccepted: (order_id) => order_ids.push(order_id) }) }
  for (const caller of endless.callers) caller.begin()
  await until("an acknowledged order", () => order_ids.length > 0)
}
const end: Calls["end"] = async () => {
  const { callers, order_ids } = endless!
  for (const caller of callers) caller.end()
  return order_ids
}

serve({ run, sustain, begin, end } satisfies Calls)
