import type { RemedyText } from "../../client/models";
import { useMessage } from "../../lib/text/i18n";
import { CommandLine } from "../fields/CopyButton";

/** Render how to correct a problem: a message, and its command with a copy button. */
export function RemedyHint({ remedy }: { remedy: RemedyText | undefined }) {
  const formatMessage = useMessage();
  if (!remedy) return null;
  const command = remedy.params?.command;
  return (
    <>
      <span>{formatMessage(remedy)}</span>
      {typeof command === "string" && <CommandLine text={command} />}
    </>
  );
}
