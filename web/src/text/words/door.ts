// What the door says to a browser that is not paired. It comes later than the first words.
export const doorWords = {
  door: {
    head: "Pair this browser",
    ways: "Somebody at the machine where assent runs has to approve it, once.",
    fromHere: "Pair from here",
    newCode: "New code",
    showsCode: "Shows a short code to type on that machine.",
    onMachine: "Or start on the machine",
    runPair: "Run `assent pair` there. Open the link that it prints in this browser, or paste it here. It works once, for five minutes.",
    tokenHint: "A token (`assent token create`) works until the page is closed.",
    paste: "Link, code or token",
    goOn: "Continue",
    noKeys: "This page was opened over plain http. Browsers only store keys for https and for the machine itself, so this browser cannot be paired at this address.",
    waysOut: "What you can do:",
    waysOutList: [
      "Open the broker over https. With tailscale serve, Caddy or your own certificate it takes a few minutes: see `docs/phone.md`.",
      "On the machine where assent runs, open `http://127.0.0.1` with the broker's port.",
    ],
    keepsNothing: "This browser stores nothing for this page: it is a private window, or site data is blocked. A pairing will last until the page is closed.",
    typeThis: "Type this on the machine",
    inTerminal: "In a terminal on the machine where assent runs:",
    asksWhether: "It asks whether to let in **{name}**. Say yes, and this page continues by itself.",
    goodFor: (minutes: string) => `The code is valid for ${minutes}.`,
    wasTyped: "Asking the broker whether the code was typed…",
    silent: "No answer from the broker; trying again.",
    cancel: "Cancel",
  },
};
