/** Version of the API and of its description. Source: specification, Versioning 3. */
export const VERSION = "0.1.1"
