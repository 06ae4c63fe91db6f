/** A user's own lists by REST, all at one position of the user's stream. */
import type { Trader } from "../harness/Trader.ts"
import { until } from "../harness/Wait.ts"

export interface RestState {
  readonly stream_id: string
  readonly seq: number
  readonly orders: ReadonlyArray<object>
  readonly positions: ReadonlyArray<object>
  readonly balances: ReadonlyArray<object>
}

/** Reads the lists until all three are at one position. */
export const restStateOf = (url: string, { token }: Pick<Trader, "token">): Promise<RestState> => {
  const headers = { authorization: `Bearer ${token}` }
  const read = async (path: string) => {
    // a kept connection may break at the first request after a kill
    const answer = await fetch(`${url}/api/v1${path}`, { headers }).catch(() => undefined)
    if (answer?.status !== 200) return undefined
    return (await answer.json()) as { readonly list: Array<object>; readonly stream_id: string; readonly seq: number }
  }
  return until("the lists of REST are at one position", async () => {
    const orders = await read("/order/realtime?limit=200")
    const positions = await read("/position/list")
    const balances = await read("/account/balances")
    if (!orders || !positions || !balances || orders.seq !== positions.seq || orders.seq !== balances.seq) return false
    const { seq, stream_id } = orders
    return { stream_id, seq, orders: orders.list, positions: positions.list, balances: balances.list }
  })
}
