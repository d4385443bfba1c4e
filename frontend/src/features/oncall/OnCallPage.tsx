import { Button } from "@mantine/core";
import { Plus } from "lucide-react";
import { EmptyState, QueryContent, RowSkeleton } from "../../components/EmptyState";
import { Link } from "../../components/Link";
import { Page, Panel } from "../../components/Page";
import { useRotations } from "../../lib/captures/schedules";
import { usePermission } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import { choiceField, textField, useUrlState } from "../../lib/urlState";
import { OverrideDialog } from "./OverrideDialog";
import { RotationDialog } from "./RotationDialog";
import { RotationPanel } from "./RotationPanel";

const FIELDS = { rotation: textField, dialog: choiceField(["", "add", "edit", "override"], "") };

/** On-call rotations: simple rotations, external calendars and PagerDuty. */
export function OnCallPage() {
  const { t } = useTranslation();
  const can = usePermission();
  const [view, setView] = useUrlState(FIELDS);
  const rotations = useRotations();
  const manages = can("oncall.manage");
  const chosen = rotations.data?.find((rotation) => rotation.id === view.rotation);
  const close = () => setView({ dialog: "", rotation: "" });
  const add = (
    <Button leftSection={<Plus size={14} />} onClick={() => setView({ dialog: "add" })}>
      {t("oncall.add")}
    </Button>
  );
  return (
    <Page
      title={t("oncall.title")}
      meta={<Link to="/schedules">{t("schedules.title")}</Link>}
      actions={manages && rotations.data && rotations.data.length > 0 && add}
    >
      <QueryContent query={rotations} skeleton={<RowSkeleton rows={4} height={40} />}>
        {(rows) =>
          rows.length > 0 ? (
            rows.map((rotation) => (
              <RotationPanel
                key={rotation.id}
                rotation={rotation}
                onEdit={() => setView({ rotation: rotation.id, dialog: "edit" })}
                onOverride={() => setView({ rotation: rotation.id, dialog: "override" })}
              />
            ))
          ) : (
            <Panel>
              <EmptyState title={t("oncall.empty")} action={manages && add}>
                {t("oncall.emptyText")} {!manages && t("oncall.emptyViewer")}
              </EmptyState>
            </Panel>
          )
        }
      </QueryContent>
      {manages && view.dialog === "add" && <RotationDialog onClose={close} />}
      {manages && view.dialog === "edit" && chosen && (
        <RotationDialog key={chosen.id} rotation={chosen} onClose={close} />
      )}
      {can("oncall.override") && view.dialog === "override" && chosen && (
        <OverrideDialog key={chosen.id} rotation={chosen} onClose={close} />
      )}
    </Page>
  );
}
