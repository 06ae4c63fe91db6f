/** Limits of the whole exchange that settings and markets files are checked against. */

/**
 * Highest limit of open orders that can be configured. The order table has four times as many slots
 * (`engine/book/Slots.ts`): the rest holds attached exits and orders that the engine creates.
 */
export const OPEN_ORDERS_MAX = 1 << 20
