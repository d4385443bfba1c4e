import { TextInput, type TextInputProps } from "@mantine/core";
import { fieldTime, isoToNs, readFieldTime } from "../../core/time/clock";
import { useTimeFormat } from "../../lib/text/useFormat";

interface Props extends Omit<TextInputProps, "value" | "onChange" | "type"> {
  /** ISO 8601, or "" for none. */
  value: string;
  onChange: (iso: string) => void;
}

/** An instant, typed in the zone in which all times are shown. */
export function TimeField({ value, onChange, label, ...props }: Props) {
  const { zone, zoneName } = useTimeFormat();
  const ns = isoToNs(value);
  return (
    <TextInput
      {...props}
      label={
        <>
          {label} <span className="dim">{zoneName}</span>
        </>
      }
      type="datetime-local"
      step={1}
      value={ns === undefined ? "" : fieldTime(ns, zone)}
      onChange={(event) => onChange(readFieldTime(event.currentTarget.value, zone))}
    />
  );
}
