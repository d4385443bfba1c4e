import { Button } from "@mantine/core";
import { Plus } from "lucide-react";
import { useTranslation } from "react-i18next";
import { Link } from "../../components/Link";
import { Page, Panel } from "../../components/Page";
import { Empty, Loaded, RowSkeleton } from "../../components/States";
import { useMay } from "../../lib/queries";
import { useRotations } from "../../lib/schedules";
import { choiceField, textField, useUrlState } from "../../lib/urlState";
import { RotationDialog } from "./RotationDialog";
import { RotationPanel } from "./RotationPanel";
import { TakeDialog } from "./TakeDialog";

const FIELDS = { one: textField, act: choiceField(["", "add", "edit", "take"], "") };

/** Who is on call now and next, from rotations made here, calendars and PagerDuty. */
export function OnCallPage() {
  const { t } = useTranslation();
  const may = useMay();
  const [view, setView] = useUrlState(FIELDS);
  const rotations = useRotations();
  const manages = may("oncall.manage");
  const chosen = rotations.data?.find((one) => one.id === view.one);
  const close = () => setView({ act: "", one: "" });
  const add = (
    <Button leftSection={<Plus size={14} />} onClick={() => setView({ act: "add" })}>
      {t("oncall.add")}
    </Button>
  );
  return (
    <Page
      title={t("oncall.title")}
      meta={<Link to="/schedules">{t("schedules.title")}</Link>}
      actions={manages && rotations.data && rotations.data.length > 0 && add}
    >
      <Loaded query={rotations} skeleton={<RowSkeleton rows={4} height={40} />}>
        {(rows) =>
          rows.length > 0 ? (
            rows.map((one) => (
              <RotationPanel
                key={one.id}
                rotation={one}
                onEdit={() => setView({ one: one.id, act: "edit" })}
                onTake={() => setView({ one: one.id, act: "take" })}
              />
            ))
          ) : (
            <Panel>
              <Empty title={t("oncall.empty")} action={manages && add}>
                {t("oncall.emptyText")} {!manages && t("oncall.emptyViewer")}
              </Empty>
            </Panel>
          )
        }
      </Loaded>
      {manages && view.act === "add" && <RotationDialog onClose={close} />}
      {manages && view.act === "edit" && chosen && (
        <RotationDialog key={chosen.id} rotation={chosen} onClose={close} />
      )}
      {may("oncall.override") && view.act === "take" && chosen && (
        <TakeDialog key={chosen.id} rotation={chosen} onClose={close} />
      )}
    </Page>
  );
}
