/** Who is signed in and with how much: the way in, the faucet, and what to know of the wallet's key. */
import { fact, h, place, setText } from "./Dom.ts"
import * as Format from "./Format.ts"
import { drawn } from "./Frame.ts"
import { doing, note } from "./Notes.ts"
import { COLLATERAL, type Session } from "./Session.ts"
import * as Theme from "./Theme.ts"

/** What one press of the faucet gives, in USDC. */
const FAUCET = "10000"
const PRODUCTION = "production"

const environment = document.documentElement.dataset["environment"] ?? ""
const hasFaucet = environment !== PRODUCTION

/** What the owner of a key must know of it. */
const wordsOf = (isGuarded: boolean): string => {
  const where = isGuarded
    ? "Its key is kept by this browser and cannot be read out: other browsers and machines do not have it."
    : "This browser cannot guard keys here, so the key lies readable in its storage: whoever uses the browser can take it."
  const worth = hasFaucet
    ? "It is a test wallet: keep nothing of worth in it."
    : "Clearing the browser's data destroys it."
  return `${where} ${worth}`
}

export const mount = (session: Session): void => {
  const [equity, free] = [fact("Equity", "Wallet and unrealised results"), fact("Available", "For new orders")]
  const money = h("dl", { class: "money" }, equity.element, free.element)
  const signIn = h("button", {
    type: "button",
    class: "primary",
    id: "sign-in",
    onclick: () => doing(signIn, () => session.signIn())
  })
  const faucet = h(
    "button",
    {
      type: "button",
      id: "faucet",
      title: `${FAUCET} ${COLLATERAL} of test money`,
      onclick: () => doing(faucet, give)
    },
    "Faucet"
  )
  const give = async (): Promise<void> => {
    const { value } = session.who
    if (value === undefined) return
    await session.ask().faucet({ sub_account_address: value.address, asset: COLLATERAL, amount: FAUCET })
    note("good", `${Format.grouped(FAUCET, 0)} ${COLLATERAL} came from the faucet`)
  }
  const [name, key, account, words] = [h("span"), h("code"), h("code"), h("p", { class: "dim" })]
  const signOut = h(
    "button",
    { type: "button", class: "quiet", onclick: () => doing(signOut, () => session.signOut()) },
    "Sign out"
  )
  const menu = h(
    "details",
    { class: "menu" },
    h("summary", {}, name),
    h("div", {}, h("p", {}, "Key ", key), h("p", {}, "Account ", account), words, signOut)
  )
  menu.addEventListener("keydown", (event) => {
    if (event.key === "Escape") menu.open = false
  })
  document.addEventListener("click", ({ target }) => {
    if (target instanceof Node && !menu.contains(target)) menu.open = false
  })
  place("account").append(money, faucet, signIn, menu, Theme.toggle())

  drawn([session.who, session.key], () => {
    const { value } = session.who
    const held = session.key.value
    const isIn = value !== undefined
    money.hidden = !isIn
    faucet.hidden = !isIn || !hasFaucet
    signIn.hidden = isIn
    menu.hidden = !isIn
    setText(signIn, held === undefined ? "Create a wallet and sign in" : `Sign in as ${Format.short(held.public_key)}`)
    signIn.title = held === undefined ? "Makes an Ed25519 key in this browser; it never leaves it" : ""
    if (!isIn) return
    setText(name, Format.short(value.key.public_key))
    setText(key, value.key.public_key)
    setText(account, value.address)
    setText(words, wordsOf(value.key.guarded))
  })
  drawn([session.account, session.who], () => {
    const balance = session.balance()
    setText(equity.value, balance === undefined ? "–" : Format.money(balance.equity))
    setText(free.value, balance === undefined ? "–" : Format.money(balance.available_balance))
  })
}
