// The page without a broker: it comes back by itself.
setInterval(() => {
  fetch("/healthz", { cache: "no-store" }).then(
    (r) => r.ok && location.reload(),
    () => undefined,
  );
}, 10_000);

export {};
