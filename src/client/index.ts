/** The typed client of the gateway: REST, signing, live feeds. */
export { catchReason } from "./CatchReason.ts"
export * as Account from "./Account.ts"
export * as Client from "./Client.ts"
/** Exact arithmetic on prices and quantities, which are text. */
export * as Decimal from "../domain/Decimal.ts"
export * as Feed from "./Feed.ts"
export { LocalBook } from "./LocalBook.ts"
export * as Wallet from "./Wallet.ts"
