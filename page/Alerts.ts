/**
 * Sounds and notifications of the browser for what happens to the account. Both are off until the trader switches them on, and
 * each browser keeps its choice.
 */
import { check } from "./Controls.ts"
import { h, setText } from "./Dom.ts"
import type { Notice, Tone } from "./Notices.ts"

const SOUNDS = "trading-gateway/sounds"
const NOTIFICATIONS = "trading-gateway/notifications"

/** Time for which a notice has no second sound, in this tab or in another one, in ms. */
const ONCE_MS = 1_000
const VOLUME = 0.08
const TONE_S = 0.12

/** Frequencies of the two tones of a sound, in Hz; none for what the trader did. */
const sounds: Record<Tone, readonly [number, number] | undefined> = {
  good: [660, 880],
  warn: [520, 520],
  bad: [330, 247],
  plain: undefined
}

const isOn = (key: string): boolean => localStorage.getItem(key) !== null
const keep = (key: string, is: boolean): void => (is ? localStorage.setItem(key, "on") : localStorage.removeItem(key))

let audio: AudioContext | undefined
/** A browser plays sounds only after the user has acted on the page. */
const wake = (): void => {
  if (!isOn(SOUNDS)) return
  audio ??= new AudioContext()
  audio.resume().catch(() => {})
}

const play = (tone: Tone): void => {
  const tones = sounds[tone]
  if (tones === undefined || audio?.state !== "running") return
  for (const [i, frequency] of tones.entries()) {
    const [oscillator, volume] = [audio.createOscillator(), audio.createGain()]
    const start = audio.currentTime + i * TONE_S
    oscillator.frequency.value = frequency
    volume.gain.setValueAtTime(VOLUME, start)
    volume.gain.exponentialRampToValueAtTime(VOLUME / 100, start + TONE_S)
    oscillator.connect(volume).connect(audio.destination)
    oscillator.start(start)
    oscillator.stop(start + TONE_S)
  }
}

const canNotify = (): boolean => "Notification" in globalThis && Notification.permission === "granted"

/** Runs `act` in one tab only: every tab receives the same events. Without locks (plain http) each tab acts. */
const inOneTab = (name: string, act: () => void): void => {
  if (navigator.locks === undefined) return act()
  navigator.locks
    .request(`trading-gateway/alert/${name}`, { ifAvailable: true }, async (lock) => {
      if (lock === null) return
      act()
      await new Promise((resolve) => setTimeout(resolve, ONCE_MS))
    })
    .catch(() => {})
}

/** Plays the sound of a notice, and shows it outside of the browser while the page is hidden. */
export const alert = ({ key, text, tone }: Notice): void => {
  if (sounds[tone] === undefined) return
  // a tab that the user has not acted on is silent, and leaves the sound to another one
  if (isOn(SOUNDS) && audio?.state === "running") inOneTab("sound", () => play(tone))
  if (!isOn(NOTIFICATIONS) || !document.hidden || !canNotify()) return
  // a notification of a later state of the same order replaces the one before
  const shown = new Notification(text, { tag: key })
  shown.addEventListener("click", () => {
    focus()
    shown.close()
  })
}

/** The two switches. */
export const switches = (): HTMLElement => {
  const refusal = h("p", { class: "dim", role: "status" })
  const sound = check("sounds", "Sounds for fills and warnings", (is) => {
    keep(SOUNDS, is)
    if (!is) return
    wake()
    audio
      ?.resume()
      .then(() => play("good"))
      .catch(() => {})
  })
  const notification = check("notifications", "Notifications while this page is hidden", (is) => {
    setText(refusal, "")
    keep(NOTIFICATIONS, is)
    if (!is || canNotify()) return
    const refused = (): void => {
      keep(NOTIFICATIONS, false)
      notification.box.checked = false
      setText(refusal, "The browser does not allow notifications of this page. Its settings of the site change that.")
    }
    if (!("Notification" in globalThis)) return refused()
    Notification.requestPermission().then((permission) => {
      if (permission !== "granted") refused()
    }, refused)
  })
  sound.box.checked = isOn(SOUNDS)
  notification.box.checked = isOn(NOTIFICATIONS) && canNotify()
  for (const type of ["pointerdown", "keydown"]) document.addEventListener(type, wake, { passive: true })
  return h("div", { class: "alerts" }, sound.element, notification.element, refusal)
}
