import { TextInput } from "@mantine/core";
import { ApiError } from "../../../lib/api";
import { useNames } from "../../../lib/text/useNames";

/** Values of collector options that the user entered, by collector and option. */
export type OptionAnswers = Readonly<Record<string, Readonly<Record<string, string>>>>;

export interface MissingOption {
  readonly collector: string;
  readonly option: string;
}

/** Return the option that an error reports as missing for these collectors; undefined for any other error. */
export const findMissingOption = (
  error: unknown,
  collectors: readonly string[],
): MissingOption | undefined => {
  const sentence = error instanceof ApiError ? error.sentence : null;
  const collector = String(sentence?.params.collector);
  if (!sentence?.key.startsWith("incident.option_missing_") || !collectors.includes(collector))
    return undefined;
  return { collector, option: String(sentence.params.option) };
};

export const addOptionAnswer = (
  answers: OptionAnswers,
  { collector, option }: MissingOption,
  value: string,
): OptionAnswers => ({
  ...answers,
  [collector]: { ...answers[collector], [option]: value.trim() },
});

/** Field for a missing option; the server's error message explains what is needed and why. */
export function OptionPrompt({
  missing,
  value,
  onChange,
  onAnswer,
}: {
  missing: MissingOption;
  value: string;
  onChange: (value: string) => void;
  onAnswer: () => void;
}) {
  const names = useNames();
  return (
    <TextInput
      size="xs"
      w={320}
      label={`${names.collector(missing.collector)} · ${missing.option}`}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === "Enter" && value.trim()) onAnswer();
      }}
    />
  );
}
