/** What is drawn, is drawn once a frame: values change as often as they like, and a screen that is not seen is not drawn. */

const due = new Set<() => void>()
let asked = false

const flush = (): void => {
  asked = false
  const drawings = [...due]
  due.clear()
  for (const draw of drawings) draw()
}

/** Draws with the next frame; what is asked for twice is drawn once. */
export const onFrame = (draw: () => void): void => {
  due.add(draw)
  if (asked) return
  asked = true
  requestAnimationFrame(flush)
}

/** A value that the screen shows. */
export class Live<A> {
  private current: A
  private readonly drawings = new Set<() => void>()

  constructor(first: A) {
    this.current = first
  }
  get value(): A {
    return this.current
  }
  set(value: A): void {
    this.current = value
    this.touch()
  }
  /** Says that the value has changed within. */
  touch(): void {
    for (const draw of this.drawings) onFrame(draw)
  }
  /** @internal used by {@link drawn} */
  watch(draw: () => void): void {
    this.drawings.add(draw)
  }
}

/** Draws now, and in the frame after any of the values changed. */
export const drawn = (values: ReadonlyArray<Live<unknown>>, draw: () => void): void => {
  for (const value of values) value.watch(draw)
  onFrame(draw)
}
