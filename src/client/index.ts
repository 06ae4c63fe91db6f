/** The typed client of the gateway: REST, signing, live feeds. */
export * as Client from "./Client.ts"
export * as Feed from "./Feed.ts"
export * as Wallet from "./Wallet.ts"
