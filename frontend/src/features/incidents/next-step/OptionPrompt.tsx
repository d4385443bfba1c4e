import { TextInput } from "@mantine/core";
import { ApiError } from "../../lib/api";
import { useNames } from "../../lib/useNames";

/** What a collector of a step must be told, by collector and option. */
export type Told = Readonly<Record<string, Readonly<Record<string, string>>>>;

export interface Asked {
  readonly collector: string;
  readonly option: string;
}

/** The option that one of these collectors asks for; undefined where a step was refused for another reason, or was not. */
export const asked = (error: unknown, collectors: readonly string[]): Asked | undefined => {
  const said = error instanceof ApiError ? error.sentence : null;
  const collector = String(said?.params.collector);
  if (!said?.key.startsWith("incident.asks_") || !collectors.includes(collector)) return undefined;
  return { collector, option: String(said.params.option) };
};

export const withAnswer = (told: Told, { collector, option }: Asked, value: string): Told => ({
  ...told,
  [collector]: { ...told[collector], [option]: value.trim() },
});

/** The place to answer: the sentence of the refusal says what is wanted and why. */
export function Question({
  of,
  value,
  onChange,
  onAnswer,
}: {
  of: Asked;
  value: string;
  onChange: (value: string) => void;
  onAnswer: () => void;
}) {
  const names = useNames();
  return (
    <TextInput
      size="xs"
      w={320}
      label={`${names.collector(of.collector)} · ${of.option}`}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === "Enter" && value.trim()) onAnswer();
      }}
    />
  );
}
