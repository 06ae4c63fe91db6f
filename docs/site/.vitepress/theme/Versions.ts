/**
 * The versions of the site that a host serves side by side, as `versions.json` above their folders lists them. Each version reads it at run
 * time, so that older ones link to newer ones. A gateway serves its own version only, and has no list.
 */

/** An entry of the navigation. */
interface Item {
  readonly text: string
  readonly link?: string
  readonly target?: string
  readonly items?: ReadonlyArray<Item>
}

const VERSION = /^\d+\.\d+\.\d+$/u
const isVersion = (value: unknown): value is string => typeof value === "string" && VERSION.test(value)
const numbers = new Intl.Collator("en", { numeric: true })

/** The versions of a list, newest first. What is not a version is left out. */
export const versionsOf = (list: unknown): ReadonlyArray<string> =>
  [...new Set(Array.isArray(list) ? list.filter(isVersion) : [])].toSorted((a, b) => numbers.compare(b, a))

/** The version in whose folder a site is built, such as `/0.1.1/`; `undefined`: it is alone. */
export const versionOf = (base: string): string | undefined => {
  const folder = base.split("/").at(-2)
  return isVersion(folder) ? folder : undefined
}

/** The navigation with a link to each other version in the menu of the own one. */
export const withVersions = (nav: ReadonlyArray<Item>, own: string, list: unknown, root: string): ReadonlyArray<Item> => {
  const others = versionsOf(list).filter((version) => version !== own)
  return nav.map((item) =>
    item.text === menuOf(own)
      ? {
          ...item,
          // a page load: another version has other scripts
          items: [
            ...(item.items ?? []),
            ...others.map((version) => ({ text: menuOf(version), link: `${root}${version}/`, target: "_self" }))
          ]
        }
      : item
  )
}

export const menuOf = (version: string): string => `Version ${version}`
