/** The exports of `@trading-gateway/contract`: the API as values, for clients, doubles and documents. */
export { Api } from "./http/api/Api.ts"
export { VERSION } from "./domain/Version.ts"
export { Rpcs, RPC_PATH } from "./rpc/api/Rpcs.ts"
export { codeOf, httpStatusOf, isReason, Reason, reasons } from "./domain/Reason.ts"
export * as Frames from "./ws/api/Frames.ts"
export * as TopicData from "./ws/api/TopicData.ts"
export { closeCodes } from "./ws/api/CloseCodes.ts"
