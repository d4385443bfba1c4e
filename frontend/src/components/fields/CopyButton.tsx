import { ActionIcon, Tooltip } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { Check, Copy } from "lucide-react";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./CopyButton.module.css";

/** Render a button that copies a text to the clipboard. */
export function CopyButton({ text, label }: { text: string; label?: string }) {
  const { t } = useTranslation();
  const clipboard = useClipboard({ timeout: 1500 });
  const name = clipboard.copied ? t("action.copied") : (label ?? t("action.copy"));
  return (
    <Tooltip label={name}>
      <ActionIcon size="sm" onClick={() => clipboard.copy(text)} aria-label={name}>
        {clipboard.copied ? <Check size={14} /> : <Copy size={14} />}
      </ActionIcon>
    </Tooltip>
  );
}

/** Render a command or key verbatim, on one or several lines, with a copy button. */
export function CommandLine({ text, prompt = false }: { text: string; prompt?: boolean }) {
  return (
    <div className={classes.command}>
      <code className={classes.code}>
        {prompt && (
          <span className={classes.prompt} aria-hidden>
            ${" "}
          </span>
        )}
        {text}
      </code>
      <CopyButton text={text} />
    </div>
  );
}
