/** The sheet of the wallet: its key as a file, the user's API keys, and the sub-accounts. */
import * as Wallet from "../src/client/Wallet.ts"
import type { ApiKey, SubAccount } from "../src/domain/User.ts"
import { Scope } from "../src/domain/Enumerations.ts"
import type { TransferBody } from "../src/http/api/AccountApi.ts"
import { check, field, plainButton } from "./Controls.ts"
import { h, setClass, setText } from "./Dom.ts"
import * as Format from "./Format.ts"
import { drawn, Live } from "./Frame.ts"
import * as KeyFile from "./KeyFile.ts"
import { withRequestId } from "./RequestId.ts"
import { COLLATERAL, type Session } from "./Session.ts"
import { table } from "./Table.ts"
import { toastError, whileBusy } from "./Toasts.ts"

/** Lets the browser save a text as a file. */
const save = (name: string, text: string): void => {
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }))
  h("a", { href: url, download: name }).click()
  URL.revokeObjectURL(url)
}

/** The outcome of the last action: notices of the page are behind the sheet while it is open. */
const outcome = h("p", { class: "outcome", role: "status" })

/** A button whose action may take a while; its result is a text for the user, or nothing. */
const action = (text: string, act: () => Promise<string | void>): HTMLButtonElement => {
  const run = async (): Promise<void> => {
    const show = (result: string, isError: boolean): void => {
      setText(outcome, result)
      setClass(outcome, "down", isError)
    }
    show("", false)
    try {
      show((await act()) ?? "", false)
    } catch (error) {
      show(error instanceof Error ? error.message : String(error), true)
      if (outcome.closest("dialog")?.open !== true) toastError(error)
    }
  }
  const button = h("button", { type: "button", class: "quiet", onclick: () => whileBusy(button, run) }, text)
  return button
}

const section = (title: string, ...content: ReadonlyArray<HTMLElement>): HTMLElement =>
  h("section", { class: "part", "aria-label": title }, h("h3", {}, title), ...content)

/** The key of the wallet: saved in a file, sealed, or replaced by the key of a file. */
const keySection = (session: Session): HTMLElement => {
  const [name, state] = [h("code"), h("p", { class: "dim" })]
  const passphrase = h("input", {
    id: "passphrase",
    type: "password",
    autocomplete: "off",
    minlength: KeyFile.PASSPHRASE_MIN
  })
  const file = h("input", { id: "key-file", type: "file", accept: "application/json,.json" })
  const nameOfFile = (): string => `key-${session.key.value?.public_key.slice(2, 10) ?? ""}.json`
  const seed = async (): Promise<string> => {
    const held = await session.key.value?.seed?.()
    if (held === undefined) throw new Error("The key is sealed: it cannot be read out")
    return held
  }
  const savePlain = action("Save for the command line", async () => {
    save(nameOfFile(), KeyFile.plain(await seed()))
  })
  const saveEncrypted = action("Save with the passphrase", async () => {
    if (passphrase.value.length < KeyFile.PASSPHRASE_MIN)
      throw new Error(`The passphrase needs at least ${KeyFile.PASSPHRASE_MIN} characters`)
    save(nameOfFile(), await KeyFile.encrypted(await seed(), passphrase.value))
    passphrase.value = ""
  })
  const seal = action("Seal", () => session.seal())
  seal.title = "From then on nobody can read the key out of this browser, not even this page. Save it first"
  const open = action("Use this key", async () => {
    const chosen = file.files?.[0]
    if (chosen === undefined) throw new Error("Choose a key file first")
    await session.adopt(await KeyFile.seedOf(await chosen.text(), passphrase.value))
    passphrase.value = ""
    file.value = ""
    return "Signed in with the key of the file"
  })
  const saving = h("div", { class: "row" }, saveEncrypted, savePlain, seal)
  drawn([session.key], () => {
    const { value } = session.key
    setText(name, value?.public_key ?? "none yet")
    saving.hidden = value?.seed === undefined
    seal.hidden = value?.guarded !== true
    setText(
      state,
      value === undefined
        ? "Create a wallet, or use the key of a file."
        : value.seed === undefined
          ? "The key is sealed: it signs, but it cannot be read out or saved."
          : value.guarded
            ? "Anyone with the file has the money: save it with a passphrase. The other form is what the command line reads; keep it readable for you only."
            : "This browser cannot protect the key: anyone who uses the browser can read it from its storage."
    )
  })
  return section(
    "Wallet",
    h("p", {}, name),
    state,
    field("Passphrase, to save or open an encrypted file", "passphrase", passphrase),
    saving,
    field("A key file, of this page or of the command line; it replaces the wallet here", "key-file", file),
    h("div", { class: "row" }, open)
  )
}

/** API keys: those that exist, and a new one for a program. */
const apiKeySection = (session: Session, shown: Live<boolean>): HTMLElement => {
  const keys = new Live<ReadonlyArray<ApiKey>>([])
  const read = async (): Promise<void> => keys.set((await session.owner().apiKeys()).list)
  const isOurs = ({ api_key_id }: ApiKey): boolean => api_key_id === session.apiKeyId
  const list = table<ApiKey>(
    [
      { head: "Label", of: (key) => (isOurs(key) ? `${key.label} (this one)` : key.label) },
      { head: "Key", of: ({ public_key }) => Format.short(public_key) },
      { head: "May", of: ({ scopes }) => scopes.join(", ") },
      {
        head: "Used",
        of: ({ last_used_time }) => (last_used_time === undefined ? "never" : Format.stamp(last_used_time))
      }
    ],
    ({ api_key_id }) => api_key_id,
    "No API keys.",
    [
      (key) =>
        action("Revoke", async () => {
          await session.owner().revokeApiKey(key().api_key_id)
          await read()
        })
    ]
  )
  const label = h("input", { id: "api-key-label", type: "text", maxlength: 64, autocomplete: "off" })
  const scopes = Scope.literals.map((scope) => ({ scope, ...check(`scope-${scope}`, scope, () => {}) }))
  for (const { box, scope } of scopes) box.checked = scope === "read" || scope === "trade"
  const make = action("Create and save its key file", async () => {
    const { seed, wallet } = Wallet.generate()
    const chosen = scopes.filter(({ box }) => box.checked).map(({ scope }) => scope)
    if (chosen.length === 0) throw new Error("Choose what the key may do")
    await session.owner().createApiKey({
      public_key: wallet.public_key,
      scopes: chosen,
      ...(label.value === "" ? {} : { label: label.value })
    })
    save(`api-key-${wallet.public_key.slice(2, 10)}.json`, KeyFile.plain(seed))
    label.value = ""
    await read()
  })
  drawn([keys], () => list.show(keys.value))
  drawn([session.user, shown], () => {
    if (session.user.value === undefined) keys.set([])
    else if (shown.value) read().catch(() => {})
  })
  return section(
    "API keys",
    list.element,
    field("Label of a new key", "api-key-label", label),
    h("div", { class: "row" }, ...scopes.map(({ element }) => element)),
    h("div", { class: "row" }, make)
  )
}

const subAccountSection = (session: Session, shown: Live<boolean>): HTMLElement => {
  const accounts = new Live<ReadonlyArray<SubAccount>>([])
  const read = async (): Promise<void> => accounts.set((await session.api().subAccounts()).list)
  const isCurrent = ({ sub_account_address }: SubAccount): boolean =>
    sub_account_address === session.user.value?.address
  const changed =
    (act: (account: SubAccount) => Promise<unknown>) =>
    (account: () => SubAccount): (() => Promise<void>) =>
    async () => {
      await act(account())
      await read()
    }
  const freeze = changed(({ frozen, sub_account_address }) =>
    session.api().changeSubAccount(sub_account_address, { frozen: !frozen })
  )
  const remove = changed(async (account) => {
    await session.api().deleteSubAccount(account.sub_account_address)
    // the first one cannot be deleted
    if (isCurrent(account)) session.choose(accounts.value[0]!.sub_account_address)
  })
  const nameOf = ({ index, label: text }: SubAccount): string => (text === "" ? `Sub-account ${index}` : text)
  const list = table<SubAccount>(
    [
      { head: "Name", of: (account) => (isCurrent(account) ? `${nameOf(account)} (trading here)` : nameOf(account)) },
      { head: "Address", of: ({ sub_account_address }) => Format.short(sub_account_address) },
      {
        head: "Available",
        of: ({ sub_account_address }) => {
          const balance = session.balanceOf(sub_account_address)
          return balance === undefined ? "0.00" : Format.money(balance.available_balance)
        }
      },
      { head: "State", of: ({ frozen }) => (frozen ? "frozen; Freeze thaws it" : "active") }
    ],
    ({ sub_account_address }) => sub_account_address,
    "No sub-accounts.",
    [
      (account) => plainButton("Use", { class: "quiet" }, () => session.choose(account().sub_account_address)),
      (account) => action("Freeze", freeze(account)),
      (account) => action("Delete", remove(account))
    ]
  )
  const label = h("input", { id: "sub-account-label", type: "text", maxlength: 32, autocomplete: "off" })
  const make = action("Create", async () => {
    await session.api().createSubAccount(label.value)
    label.value = ""
    await read()
  })
  const [amount, to] = [
    h("input", { id: "transfer-amount", type: "text", inputmode: "decimal", autocomplete: "off" }),
    h("select", { id: "transfer-to" })
  ]
  /** The transfer of the last click: the same object while the fields are unchanged. */
  let confirmed: Omit<TransferBody, "transfer_id"> | undefined
  const transfer = action("Transfer", async () => {
    const from = session.user.value?.address
    if (from === undefined) return
    const next = {
      from_sub_account_address: from,
      to_sub_account_address: to.value,
      asset: COLLATERAL,
      amount: amount.value.trim()
    }
    const sent = JSON.stringify(next) === JSON.stringify(confirmed) ? confirmed! : (confirmed = next)
    await withRequestId(sent, (transfer_id) => session.api().transfer({ transfer_id, ...sent }))
    amount.value = ""
    return `Transferred ${sent.amount} ${COLLATERAL}`
  })
  const moving = h(
    "div",
    { class: "transfer" },
    field(`Transfer ${COLLATERAL} from the one that trades here`, "transfer-amount", amount),
    field("To", "transfer-to", to),
    transfer
  )
  drawn([accounts, session.user, session.account], () => {
    list.show(accounts.value)
    const others = accounts.value.filter((account) => !isCurrent(account))
    moving.hidden = others.length === 0
    const known = [...to.options].map(({ value }) => value).join()
    if (known === others.map(({ sub_account_address }) => sub_account_address).join()) return
    to.replaceChildren(...others.map((account) => h("option", { value: account.sub_account_address }, nameOf(account))))
  })
  drawn([session.user, shown], () => {
    if (session.user.value === undefined) accounts.set([])
    else if (shown.value) read().catch(() => {})
  })
  return section(
    "Sub-accounts",
    list.element,
    moving,
    field("Name of a new sub-account", "sub-account-label", label),
    h("div", { class: "row" }, make)
  )
}

/** Makes the sheet; returns what opens it. */
export const walletDialog = (session: Session): (() => void) => {
  const shown = new Live(false)
  const close = h("button", { type: "button", class: "primary", onclick: () => sheet.close() }, "Close")
  const ofUser = [apiKeySection(session, shown), subAccountSection(session, shown)]
  const sheet: HTMLDialogElement = h(
    "dialog",
    { id: "wallet", class: "sheet wide", "aria-labelledby": "wallet-title" },
    h(
      "div",
      { class: "sheet-content" },
      h("h2", { id: "wallet-title" }, "Wallet and keys"),
      keySection(session),
      ...ofUser,
      outcome,
      h("div", { class: "buttons" }, close)
    )
  )
  sheet.addEventListener("close", () => shown.set(false))
  document.body.append(sheet)
  drawn([session.user], () => {
    for (const part of ofUser) part.hidden = session.user.value === undefined
  })
  return () => {
    shown.set(true)
    sheet.showModal()
  }
}
