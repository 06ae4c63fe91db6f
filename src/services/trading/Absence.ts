/**
 * An absence: a period without a private connection of a user, with the windows after which the orders of sub-accounts are
 * canceled. Times are monotonic, in ms, so that no step of the wall clock cancels orders.
 */
import type { Switch } from "../../domain/DeadMansSwitchWindow.ts"
import { SECOND_MS } from "../../domain/Time.ts"
import type { StoredAbsence } from "./DeadMansSwitchStore.ts"

/** A window of its own of a sub-account: its setting changed during the absence, or its orders were canceled. */
interface Window {
  readonly start_ms: number
  /** The start in Unix ms as the store has it; it is not converted again, because the wall clock may be set. */
  readonly began_ms: number | undefined
  readonly canceled: boolean
  /** Whether the store has this window. */
  readonly isSaved: boolean
}

export class Absence {
  /** When it began. */
  start_ms: number
  /** No window ends before: the gateway started in this absence. */
  private notBefore_ms = -Infinity
  private readonly windows = new Map<string, Window>()
  /** What the store has: an absence that is not read yet, none of this user, perhaps one, or this one. */
  inStore: "unread" | "none" | "perhaps" | "this"

  constructor(start_ms: number, inStore: "unread" | "none") {
    this.start_ms = start_ms
    this.inStore = inStore
  }

  /** Whether the store has this absence with all of its windows. */
  get isSaved(): boolean {
    return this.inStore === "this" && this.unsaved().length === 0
  }

  /** Begins the window of a sub-account again. */
  restart(address: string, start_ms: number): void {
    this.windows.set(address, { start_ms, began_ms: undefined, canceled: false, isSaved: false })
  }
  /** The orders of a sub-account are canceled: its window does not end again. */
  cancel(address: string): void {
    const { began_ms, start_ms } = this.windowOf(address)
    this.windows.set(address, { start_ms, began_ms, canceled: true, isSaved: false })
  }

  /** Continues an absence that was stored before this gateway started. */
  continue(stored: StoredAbsence, monotonicOf: (wall_ms: number) => number, notBefore_ms: number): void {
    this.inStore = "this"
    this.start_ms = monotonicOf(stored.began_ms)
    this.notBefore_ms = notBefore_ms
    this.merge(stored, monotonicOf)
  }
  /** Takes over the windows that other gateways have begun, and the cancels that they have sent. What is not saved stays. */
  merge({ windows }: StoredAbsence, monotonicOf: (wall_ms: number) => number): void {
    for (const { began_ms, canceled, sub_account_address: address } of windows) {
      const known = this.windows.get(address)
      if (known?.isSaved === false) continue
      if (known?.began_ms !== began_ms) {
        const start_ms = Math.max(this.start_ms, monotonicOf(began_ms))
        this.windows.set(address, { start_ms, began_ms, canceled, isSaved: true })
      } else if (canceled) this.windows.set(address, { ...known, canceled })
    }
  }

  /** Sub-accounts whose window is to be saved. */
  unsaved(): ReadonlyArray<string> {
    return [...this.windows].filter(([, { isSaved }]) => !isSaved).map(([address]) => address)
  }
  /** The window of a sub-account as the store is to have it; it counts as saved until {@link unsave}. */
  save(address: string, wallOf: (monotonic_ms: number) => number): StoredAbsence["windows"][number] {
    const { canceled, start_ms, ...window } = this.windowOf(address)
    const began_ms = window.began_ms ?? wallOf(start_ms)
    this.windows.set(address, { start_ms, began_ms, canceled, isSaved: true })
    return { sub_account_address: address, began_ms, canceled }
  }
  /** The store did not accept the window of a sub-account. */
  unsave(address: string): void {
    this.windows.set(address, { ...this.windowOf(address), isSaved: false })
  }

  /** The enabled window that ends next; undefined if no orders are left to cancel. */
  next(settings: ReadonlyArray<Switch>): { readonly address: string; readonly at_ms: number } | undefined {
    return settings
      .filter(({ enabled, sub_account_address }) => enabled && !this.windowOf(sub_account_address).canceled)
      .map(({ sub_account_address: address, time_window }) => ({
        address,
        at_ms: Math.max(this.notBefore_ms, this.windowOf(address).start_ms + time_window * SECOND_MS)
      }))
      .sort((a, b) => a.at_ms - b.at_ms)[0]
  }

  private windowOf(address: string): Window {
    return this.windows.get(address) ?? { start_ms: this.start_ms, began_ms: undefined, canceled: false, isSaved: true }
  }
}
