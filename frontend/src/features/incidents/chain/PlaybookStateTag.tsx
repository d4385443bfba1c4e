import type { Incident } from "../../../client/models";
import { Tag } from "../../../components/StatusIcon";
import { useTranslation } from "../../../lib/text/useTranslation";

/** State of a dismissed or refuted playbook, with the reason as tooltip. */
export function PlaybookStateTag({ playbook }: { playbook: Incident["playbooks"][number] | undefined }) {
  const { t } = useTranslation();
  if (!playbook || playbook.state === "active") return null;
  const why = playbook.dismissed
    ? t("incidents.dismissal.by", {
        name: playbook.dismissed.by?.name ?? "–",
        reason: playbook.dismissed.reason,
      })
    : t("incidents.dismissal.refutedText");
  return <Tag title={why}>{t(`incidents.dismissal.state.${playbook.state}`)}</Tag>;
}
