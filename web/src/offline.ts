// The page without a broker: it reconnects without being asked to.
setInterval(() => {
  fetch("/healthz", { cache: "no-store" }).then(
    (r) => r.ok && location.reload(),
    () => undefined,
  );
}, 10_000);

export {};
