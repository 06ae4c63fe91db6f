/** The default theme, with enough contrast and a visible focus, and links to other versions. */
import DefaultTheme from "vitepress/theme"
import type { Theme } from "vitepress"
import { onMounted } from "vue"
import { versionOf, withVersions } from "./Versions.ts"
import "./accessible.css"

type Site = Parameters<NonNullable<Theme["enhanceApp"]>>[0]["siteData"]
let site: Site | undefined

const addVersions = async ({ value }: Site): Promise<void> => {
  const own = versionOf(value.base)
  if (own === undefined) return
  const root = new URL("..", new URL(value.base, location.origin)).href
  const response = await fetch(`${root}versions.json`, { cache: "no-cache" })
  if (!response.ok) return
  const nav = withVersions(value.themeConfig.nav, own, await response.json(), root)
  site!.value = { ...value, themeConfig: { ...value.themeConfig, nav } }
}

export default {
  extends: DefaultTheme,
  enhanceApp: ({ siteData }) => {
    site = siteData
  },
  // once the page is mounted: its menu is then as it was built
  setup: () => {
    onMounted(() => {
      if (site !== undefined) addVersions(site).catch(() => undefined)
    })
  }
} satisfies Theme
