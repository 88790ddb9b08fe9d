// Amounts as people read them.

/** 5 is $5, 5.1 is $5.10; a little is <$0.01. */
export function money(usd: number): string {
  const cents = Math.round(usd * 100);
  if (cents === 0 && usd > 0) return "<$0.01";
  return cents % 100 === 0 ? `$${cents / 100}` : `$${(cents / 100).toFixed(2)}`;
}

/** Seconds as the two largest units that say something: 45 s, 5 min, 1 h 30 min. */
export function span(seconds: number): string {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  const minutes = Math.round(s / 60);
  if (minutes < 60) return `${minutes} min`;
  return minutes % 60 === 0 ? `${minutes / 60} h` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
