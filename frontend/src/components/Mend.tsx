import type { Mend as MendText } from "../client/types";
import { useSentence } from "../lib/i18n";
import { CommandLine } from "./Copy";

/** What mends a lack: a command with its copy button, or a sentence. */
export function Mend({ mend }: { mend: MendText | undefined }) {
  const sentence = useSentence();
  if (!mend) return null;
  if (typeof mend === "string") return <CommandLine text={mend} />;
  const command = mend.params?.command;
  return (
    <>
      <span>{sentence(mend)}</span>
      {typeof command === "string" && <CommandLine text={command} />}
    </>
  );
}
