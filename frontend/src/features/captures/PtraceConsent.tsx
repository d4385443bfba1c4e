import { TextInput } from "@mantine/core";
import { TriangleAlert } from "lucide-react";
import type { Host } from "../../client/models";
import { Link } from "../../components/Link";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./NewCapture.module.css";

interface Props {
  /** Selected hosts. */
  hosts: readonly Host[];
  /** PID of the scope, or "" for another scope. */
  pid: string;
  /** The server's error for this capture. */
  refused: string | undefined;
  typed: string;
  onType: (typed: string) => void;
}

/** Warning about the effect of ptrace on a process, and a field to confirm it with the host name if it is allowed. */
export function PtraceConsent({ hosts, pid, refused, typed, onType }: Props) {
  const { t } = useTranslation();
  const host = hosts.length === 1 ? hosts[0] : undefined;
  const forbidden = host && !host.allows_ptrace;
  return (
    <section className={classes.consent} aria-label={t("newCapture.ptraceTitle")}>
      <strong>
        <TriangleAlert size={14} aria-hidden /> {t("newCapture.ptraceTitle")}
      </strong>
      <p>{t("newCapture.ptraceText")}</p>
      {refused && (
        <p role="alert" className={classes.refused}>
          {refused}
        </p>
      )}
      {host && forbidden && (
        <p>
          <Link to="/hosts/$hostId" params={{ hostId: host.id }}>
            {t("newCapture.ptraceWhere", { name: host.name })}
          </Link>
        </p>
      )}
      {host && !forbidden && (
        <TextInput
          label={t("newCapture.ptraceConfirm", { name: host.name })}
          description={pid && t("newCapture.ptraceProcess", { pid, name: host.name })}
          className={classes.consentName ?? ""}
          placeholder={host.name}
          autoComplete="off"
          spellCheck={false}
          maxLength={253}
          value={typed}
          onChange={(event) => onType(event.currentTarget.value)}
          error={typed !== "" && !host.name.startsWith(typed) && t("newCapture.ptraceOther")}
        />
      )}
    </section>
  );
}
