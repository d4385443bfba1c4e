import { TextInput, type TextInputProps } from "@mantine/core";
import { useState } from "react";
import { formatFieldTime, isoToNs, parseFieldTime } from "../../core/time/clock";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useTranslation } from "../../lib/text/useTranslation";

interface Props extends Omit<TextInputProps, "value" | "onChange" | "type"> {
  /** ISO 8601, or "" for none. */
  value: string;
  onChange: (iso: string) => void;
}

/** Render a field for a date and 24-hour time in the display time zone. A time without a date is today. */
export function TimeField({ value, onChange, label, error, ...props }: Props) {
  const { t } = useTranslation();
  const { zone, zoneName } = useTimeFormat();
  const [typed, setTyped] = useState<{ text: string; iso: string }>();
  const ns = isoToNs(value);
  // Keep the typed text until blur, as long as it equals the value.
  const text = typed?.iso === value ? typed.text : ns === undefined ? "" : formatFieldTime(ns, zone);
  const isWrong = text.trim() !== "" && parseFieldTime(text, zone) === "";
  return (
    <TextInput
      {...props}
      label={
        <>
          {label} <span className="dim">{zoneName}</span>
        </>
      }
      placeholder={t("time.placeholder")}
      autoComplete="off"
      error={error ?? (isWrong && t("time.invalid"))}
      value={text}
      onChange={(event) => {
        const next = event.currentTarget.value;
        const iso = parseFieldTime(next, zone);
        setTyped({ text: next, iso });
        onChange(iso);
      }}
      onBlur={() => !isWrong && setTyped(undefined)}
    />
  );
}
