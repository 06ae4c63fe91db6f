/** The account bar: sign-in, balance, faucet and the wallet menu. */
import * as Alerts from "./Alerts.ts"
import { fact, h, place, setText } from "./Dom.ts"
import * as Format from "./Format.ts"
import { drawn } from "./Frame.ts"
import { whileBusy, toast } from "./Toasts.ts"
import { COLLATERAL, type Session } from "./Session.ts"
import * as Theme from "./Theme.ts"
import { walletDialog } from "./WalletDialog.ts"

/** USDC from one click on the faucet. */
const FAUCET = "10000"
const PRODUCTION = "production"

const environment = document.documentElement.dataset["environment"] ?? ""
const hasFaucet = environment !== PRODUCTION

/** Warning about where the key is stored. */
const keyWarningOf = (isGuarded: boolean): string => {
  const where = isGuarded
    ? "The key is stored in this browser only."
    : "This browser cannot protect the key here: anyone who uses the browser can read it from its storage."
  const worth = hasFaucet
    ? "This is a test wallet: do not keep real funds in it."
    : "Clearing the browser data deletes the key."
  return `${where} ${worth}`
}

export const mount = (session: Session): void => {
  const [equity, free] = [
    fact("Equity", "Wallet balance plus unrealised PnL"),
    fact("Available", "Free for new orders")
  ]
  const money = h("dl", { class: "money" }, equity.element, free.element)
  const signIn = h("button", {
    type: "button",
    class: "primary",
    id: "sign-in",
    onclick: () => whileBusy(signIn, () => session.signIn())
  })
  const faucet = h(
    "button",
    {
      type: "button",
      id: "faucet",
      title: `${FAUCET} ${COLLATERAL} of test money`,
      onclick: () => whileBusy(faucet, give)
    },
    "Faucet"
  )
  const give = async (): Promise<void> => {
    const { value } = session.user
    if (value === undefined) return
    await session.api().faucet({ sub_account_address: value.address, asset: COLLATERAL, amount: FAUCET })
    toast("good", `${Format.grouped(FAUCET, 0)} ${COLLATERAL} received from the faucet`)
  }
  const [name, key, account, words] = [h("span"), h("code"), h("code"), h("p", { class: "dim" })]
  const signOut = h(
    "button",
    { type: "button", class: "quiet", onclick: () => whileBusy(signOut, () => session.signOut()) },
    "Sign out"
  )
  const openWallet = walletDialog(session)
  const manage = h(
    "button",
    { type: "button", class: "quiet", id: "open-wallet", onclick: openWallet },
    "Wallet, API keys and sub-accounts"
  )
  const useFile = h(
    "button",
    { type: "button", class: "quiet", id: "use-key-file", onclick: openWallet },
    "Use a key file"
  )
  const menu = h(
    "details",
    { class: "menu" },
    h("summary", {}, name),
    h("div", {}, h("p", {}, "Key ", key), h("p", {}, "Account ", account), words, Alerts.switches(), manage, signOut)
  )
  menu.addEventListener("keydown", (event) => {
    if (event.key === "Escape") menu.open = false
  })
  document.addEventListener("click", ({ target }) => {
    if (target instanceof Node && !menu.contains(target)) menu.open = false
  })
  place("account").append(money, faucet, signIn, useFile, menu, Theme.toggle())

  drawn([session.user, session.key], () => {
    const { value } = session.user
    const held = session.key.value
    const isIn = value !== undefined
    money.hidden = !isIn
    faucet.hidden = !isIn || !hasFaucet
    signIn.hidden = isIn
    useFile.hidden = isIn
    menu.hidden = !isIn
    setText(signIn, held === undefined ? "Create a wallet and sign in" : `Sign in as ${Format.short(held.public_key)}`)
    signIn.title = held === undefined ? "Creates an Ed25519 key that never leaves this browser" : ""
    if (!isIn) return
    setText(name, Format.short(value.key.public_key))
    setText(key, value.key.public_key)
    setText(account, value.address)
    setText(words, keyWarningOf(value.key.guarded))
  })
  drawn([session.account, session.user], () => {
    const balance = session.balance()
    setText(equity.value, balance === undefined ? "–" : Format.money(balance.equity))
    setText(free.value, balance === undefined ? "–" : Format.money(balance.available_balance))
  })
}
