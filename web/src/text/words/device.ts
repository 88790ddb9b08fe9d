// The words of the way in for a browser, but for those of the door itself (door.ts).
export const deviceWords = {
  browser: {
    name: (browser: string, system: string) => `${browser} on ${system}`,
    some: "Browser",
    someSystem: "a device",
  },

  door: {
    spent: "This pairing code is wrong, used or expired. Pair from here instead, or run assent pair for a new link.",
    used: "This link was used already, and works once. If it was not you, look at the list of devices on a paired device, or run assent device list. To pair this browser, pair from here, or run assent pair for a new link.",
    late: "This link has expired: it works for five minutes. Pair from here instead, or run assent pair for a new link.",
    anew: (name: string, role: string, before: string) =>
      `This browser is now paired as ${name}, with the role ${role}. Its entry from before, ${before}, is no longer used and can be revoked under You, Devices.`,
    stays: (name: string, role: string) =>
      `This link was used or has expired, and changes nothing: this browser was already paired, as ${name}, with the role ${role}. For another role run assent pair --role ROLE for a new link.`,
    expired: (code: string) => `The code ${code} has expired. Nobody typed it in time.`,
    refused: (code: string) => `The code ${code} is no longer valid. It was refused on the machine.`,
    usesToken: "this browser uses a token",
    forgotten: "This browser has been forgotten. Its key is deleted, and the broker no longer knows it.",
    noAnswer: "The broker did not answer. Is it running? Then try again.",
    noPublicKey: "the browser created a key without a public part",
    badToken: "The broker does not accept this token: it is wrong, revoked or expired.",
    unpaired: "This browser is not paired.",
    noLongerPaired:
      "This browser is no longer paired. Somebody revoked it, or the broker lost its list of devices. It can neither see nor answer anything until you pair it again.",
  },
};
