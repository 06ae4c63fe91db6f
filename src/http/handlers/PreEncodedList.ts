/**
 * A list as a response body, joined from the JSON text of its rows. Each row was encoded once, when its event arrived, so no row
 * is decoded or encoded again. Tests hold these texts against the schemas; requests do not.
 * Source: docs/contract/conventions.md#paging; docs/decisions/0009.
 */
import { HttpServerResponse } from "effect/http"
import type { Page } from "../../services/operations/Paging.ts"

/** Text of a page: its list, then its other fields. */
export const textOf = (texts: ReadonlyArray<string>, rest: { readonly [name: string]: string | number }): string => {
  // one join writes every piece to its place; a text put together by additions is copied once more
  const pieces = texts.slice()
  pieces[0] = `{"list":[${pieces[0] ?? ""}`
  pieces[pieces.length - 1] += `],${JSON.stringify(rest).slice(1)}`
  return pieces.join(",")
}

/** The page itself where its history keeps no texts: then its schema encodes it. */
export const joined = <P extends Page<unknown>>(page: P): P | HttpServerResponse.HttpServerResponse => {
  if (page.texts === undefined) return page
  const rest = Object.fromEntries(
    Object.keys(page).flatMap((key) => (key === "list" || key === "texts" ? [] : [[key, page[key as keyof P]]]))
  )
  return HttpServerResponse.text(textOf(page.texts, rest as Record<string, string>), {
    contentType: "application/json"
  })
}
