import { Select } from "@mantine/core";
import classes from "../Profile.module.css";

const MOST = 500;

interface Props {
  label: string;
  /** Empty where nothing is chosen. */
  value: string;
  options: readonly (readonly [value: string | number, text: string])[];
  /** The text of a value that is no option, such as one from a link. */
  nameOf?: (value: string) => string;
  onChange(value: string): void;
  /** Whether it is in a popover, which a list outside of it would close. */
  isNested?: boolean;
}

/** A choice among the values of one field of the samples; `MOST` at most, the heaviest first. */
export function Facet({ label, value, options, nameOf = String, onChange, isNested = false }: Props) {
  const data = options.slice(0, MOST).map(([id, text]) => ({ value: String(id), label: text }));
  if (value && !data.some((item) => item.value === value)) data.unshift({ value, label: nameOf(value) });
  return (
    <Select
      size="xs"
      className={classes.facet}
      aria-label={label}
      placeholder={label}
      data={data}
      value={value || null}
      onChange={(next) => onChange(next ?? "")}
      clearable
      searchable
      comboboxProps={{ width: 280, position: "bottom-start", withinPortal: !isNested }}
    />
  );
}
