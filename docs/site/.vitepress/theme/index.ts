/** The default theme, with colours of enough contrast. */
import DefaultTheme from "vitepress/theme"
import "./contrast.css"

export default DefaultTheme
