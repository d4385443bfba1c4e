import { Select } from "@mantine/core";
import { cx } from "../../../core/cx";
import classes from "../Profile.module.css";

const MAX_OPTIONS = 500;

interface Props {
  label: string;
  /** Empty for no filter. */
  value: string;
  options: readonly (readonly [value: string | number, text: string])[];
  /** Label of a value that is not among the options, such as a value from a link. */
  nameOf?: (value: string) => string;
  onChange(value: string): void;
  /** Whether the select is in a popover; a click on a list in a portal would close the popover. */
  isNested?: boolean;
}

/** Select of the values of a filter field. The first `MOST` options are listed. */
export function FacetSelect({ label, value, options, nameOf = String, onChange, isNested = false }: Props) {
  const data = options.slice(0, MAX_OPTIONS).map(([id, text]) => ({ value: String(id), label: text }));
  if (value && !data.some((item) => item.value === value)) data.unshift({ value, label: nameOf(value) });
  return (
    <Select
      size="xs"
      className={cx(classes.facet, value && classes.chosenFacet)}
      title={data.find((item) => item.value === value)?.label}
      aria-label={label}
      placeholder={label}
      data={data}
      value={value || null}
      onChange={(next) => onChange(next ?? "")}
      clearable
      searchable
      // A menu focuses its first field, and an open list would cover the others.
      openOnFocus={!isNested}
      comboboxProps={{ width: 280, position: "bottom-start", withinPortal: !isNested }}
    />
  );
}
