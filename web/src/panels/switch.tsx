// A setting that is on or off.
interface SwitchProps {
  on: boolean;
  set(on: boolean): void;
  label: string;
  why?: string;
  disabled?: boolean;
}

/** A checkbox with a line that says what it means. */
export function Switch({ on, set, label, why, disabled }: SwitchProps) {
  return (
    <label class="switched" data-ui="switch">
      <input type="checkbox" checked={on} disabled={disabled ?? false} onChange={(e) => set(e.currentTarget.checked)} />
      <span>
        {label}
        {why && <small>{why}</small>}
      </span>
    </label>
  );
}
