/** The head of every script: the current time in ms by the server's clock, which all gateways share. */
export const NOW = `
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`
