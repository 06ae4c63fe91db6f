/** The typed client of the gateway: REST, signing, live feeds. */
export * as Account from "./Account.ts"
export * as Client from "./Client.ts"
export * as Feed from "./Feed.ts"
export { LocalBook } from "./LocalBook.ts"
export * as Wallet from "./Wallet.ts"
