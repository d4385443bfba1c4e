import { Button, SegmentedControl } from "@mantine/core";
import { Plus } from "lucide-react";
import { type ReactNode, useEffect, useRef } from "react";
import { EmptyState, QueryContent, RowSkeleton } from "../../components/EmptyState";
import { Page, Panel } from "../../components/Page";
import { usePermission } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import { choiceField, flagField, textField, useUrlState } from "../../lib/urlState";
import { WatchersPanel } from "../../widgets/watchers/WatchersPanel";
import { AlertsPanel } from "./AlertsPanel";
import { useChannels, useTriggers } from "./api";
import { TriggerDialog } from "./TriggerDialog";
import { TriggersTable } from "./TriggersTable";
import classes from "./triggers.module.css";
import { UnattendedTiers } from "./UnattendedTiers";

const PARTS = ["triggers", "watchers", "alerts"] as const;
type Part = (typeof PARTS)[number];
const FIELDS = { part: choiceField<Part>(PARTS, "triggers"), edit: textField, add: flagField };

/** Triggers, watchers and received alerts. */
export function TriggersPage() {
  const { t } = useTranslation();
  const can = usePermission();
  const [view, setView] = useUrlState(FIELDS);
  const close = () => setView({ add: false, edit: "" });
  const manages = can("trigger.manage");
  const tabs = useRef<HTMLDivElement>(null);
  // On a narrow screen the tabs scroll horizontally, so the current tab is scrolled into view.
  useEffect(() => {
    const open = tabs.current?.querySelector<HTMLElement>(`input[value="${view.part}"]`)?.parentElement;
    if (tabs.current && open) tabs.current.scrollLeft = open.offsetLeft - tabs.current.clientWidth / 3;
  }, [view.part]);
  const add = (
    <Button leftSection={<Plus size={14} />} onClick={() => setView({ add: true })}>
      {t("triggers.add")}
    </Button>
  );
  return (
    <Page title={t("nav.triggers")} actions={manages && view.part === "triggers" && add}>
      <div ref={tabs} className={classes.tabs}>
        <SegmentedControl
          value={view.part}
          onChange={(part) => setView({ part: part as Part, add: false, edit: "" })}
          data={PARTS.map((value) => ({ value, label: t(`triggers.part.${value}`) }))}
          aria-label={t("triggers.parts")}
        />
      </div>
      {view.part === "triggers" && (
        <TriggersPanel
          onAdd={manages ? add : undefined}
          edit={view.edit}
          adding={view.add}
          onEdit={manages ? (edit) => setView({ edit }) : undefined}
          onClose={close}
        />
      )}
      {view.part === "watchers" && <WatchersPanel />}
      {view.part === "alerts" && <AlertsPanel />}
    </Page>
  );
}

interface PartProps {
  onAdd: ReactNode;
  edit: string;
  adding: boolean;
  onEdit: ((id: string) => void) | undefined;
  onClose: () => void;
}

function TriggersPanel({ onAdd, edit, adding, onEdit, onClose }: PartProps) {
  const { t } = useTranslation();
  const can = usePermission();
  const triggers = useTriggers();
  const channels = useChannels(can("channel.read"));
  const edited = triggers.data?.find((trigger) => trigger.id === edit);
  return (
    <>
      <Panel flush>
        <QueryContent query={triggers} skeleton={<RowSkeleton rows={4} height={29} />}>
          {(rows) =>
            rows.length > 0 ? (
              <TriggersTable triggers={rows} onEdit={onEdit} />
            ) : (
              <EmptyState title={t("triggers.empty")} action={onAdd}>
                {t("triggers.emptyText")}
              </EmptyState>
            )
          }
        </QueryContent>
      </Panel>
      <UnattendedTiers />
      {onEdit && adding && <TriggerDialog channels={channels.data ?? []} onClose={onClose} />}
      {onEdit && edited && (
        <TriggerDialog key={edited.id} trigger={edited} channels={channels.data ?? []} onClose={onClose} />
      )}
    </>
  );
}
