import { TextInput } from "@mantine/core";
import { ApiError } from "../../../lib/api";
import { useNames } from "../../../lib/text/useNames";

/** The options that a step's collectors need, by collector and option. */
export type OptionAnswers = Readonly<Record<string, Readonly<Record<string, string>>>>;

export interface MissingOption {
  readonly collector: string;
  readonly option: string;
}

/** The option that one of these collectors asks for; undefined where a step was refused for another reason, or was not. */
export const missingOption = (error: unknown, collectors: readonly string[]): MissingOption | undefined => {
  const sentence = error instanceof ApiError ? error.sentence : null;
  const collector = String(sentence?.params.collector);
  if (!sentence?.key.startsWith("incident.option_missing_") || !collectors.includes(collector))
    return undefined;
  return { collector, option: String(sentence.params.option) };
};

export const addAnswer = (
  answers: OptionAnswers,
  { collector, option }: MissingOption,
  value: string,
): OptionAnswers => ({
  ...answers,
  [collector]: { ...answers[collector], [option]: value.trim() },
});

/** The fields for missing options: the sentence of the refusal names what is needed and why. */
export function OptionPrompt({
  of,
  value,
  onChange,
  onAnswer,
}: {
  of: MissingOption;
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
