/** A promise that is settled from outside. `Promise.withResolvers` does the same, but is missing in Node 20. */
export const deferred = <A>() => {
  let resolve!: (value: A) => void
  let reject!: (reason: unknown) => void
  const promise = new Promise<A>((onValue, onError) => {
    resolve = onValue
    reject = onError
  })
  return { promise, resolve, reject }
}
