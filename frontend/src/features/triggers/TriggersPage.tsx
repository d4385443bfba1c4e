import { Button, SegmentedControl } from "@mantine/core";
import { Plus } from "lucide-react";
import { type ReactNode, useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import { Page, Panel } from "../../components/Page";
import { Empty, Loaded, RowSkeleton } from "../../components/States";
import { useMay } from "../../lib/queries";
import { choiceField, flagField, textField, useUrlState } from "../../lib/urlState";
import { StandbysPanel } from "../../renderers/standbys/StandbysPanel";
import { AlertsPanel } from "./AlertsPanel";
import { Allowances } from "./Allowances";
import { AnnotationsPanel } from "./AnnotationsPanel";
import { ChannelDialog } from "./ChannelDialog";
import { ChannelsTable } from "./ChannelsTable";
import { useChannels, useTriggers } from "./data";
import { NoticesPanel } from "./NoticesPanel";
import { TriggerDialog } from "./TriggerDialog";
import { TriggersTable } from "./TriggersTable";
import classes from "./triggers.module.css";

const PARTS = ["triggers", "armed", "alerts", "channels", "notices"] as const;
type Part = (typeof PARTS)[number];
const FIELDS = { part: choiceField<Part>(PARTS, "triggers"), edit: textField, add: flagField };

/** Who may send alerts here, what came of them, and who is told. */
export function TriggersPage() {
  const { t } = useTranslation();
  const may = useMay();
  const [view, setView] = useUrlState(FIELDS);
  const parts = PARTS.filter((one) => !["channels", "notices"].includes(one) || may("channel.read"));
  const close = () => setView({ add: false, edit: "" });
  const manages = may(view.part === "channels" ? "channel.manage" : "trigger.manage");
  const word = view.part === "channels" ? "channels.add" : "triggers.add";
  const tabs = useRef<HTMLDivElement>(null);
  // On a narrow screen the parts are a row that scrolls: the one that is open shall be in it.
  useEffect(() => {
    const open = tabs.current?.querySelector<HTMLElement>(`input[value="${view.part}"]`)?.parentElement;
    if (tabs.current && open) tabs.current.scrollLeft = open.offsetLeft - tabs.current.clientWidth / 3;
  }, [view.part]);
  const add = (
    <Button leftSection={<Plus size={14} />} onClick={() => setView({ add: true })}>
      {t(word)}
    </Button>
  );
  return (
    <Page
      title={t("nav.triggers")}
      actions={manages && (view.part === "triggers" || view.part === "channels") && add}
    >
      <div ref={tabs} className={classes.tabs}>
        <SegmentedControl
          value={view.part}
          onChange={(part) => setView({ part: part as Part, add: false, edit: "" })}
          data={parts.map((value) => ({ value, label: t(`triggers.part.${value}`) }))}
          aria-label={t("triggers.parts")}
        />
      </div>
      {view.part === "triggers" && (
        <TriggersPart
          onAdd={manages ? add : undefined}
          edit={view.edit}
          adding={view.add}
          onEdit={manages ? (edit) => setView({ edit }) : undefined}
          onClose={close}
        />
      )}
      {view.part === "armed" && <StandbysPanel />}
      {view.part === "alerts" && <AlertsPanel />}
      {view.part === "channels" && <ChannelsPart adding={view.add} onClose={close} />}
      {view.part === "notices" && (
        <>
          <NoticesPanel />
          <AnnotationsPanel />
        </>
      )}
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

function TriggersPart({ onAdd, edit, adding, onEdit, onClose }: PartProps) {
  const { t } = useTranslation();
  const may = useMay();
  const triggers = useTriggers();
  const channels = useChannels(may("channel.read"));
  const edited = triggers.data?.find((one) => one.id === edit);
  return (
    <>
      <Panel flush>
        <Loaded query={triggers} skeleton={<RowSkeleton rows={4} height={29} />}>
          {(rows) =>
            rows.length > 0 ? (
              <TriggersTable triggers={rows} onEdit={onEdit} />
            ) : (
              <Empty title={t("triggers.empty")} action={onAdd}>
                {t("triggers.emptyText")}
              </Empty>
            )
          }
        </Loaded>
      </Panel>
      <Allowances />
      {onEdit && adding && <TriggerDialog channels={channels.data ?? []} onClose={onClose} />}
      {onEdit && edited && (
        <TriggerDialog key={edited.id} trigger={edited} channels={channels.data ?? []} onClose={onClose} />
      )}
    </>
  );
}

function ChannelsPart({ adding, onClose }: { adding: boolean; onClose: () => void }) {
  const { t } = useTranslation();
  const may = useMay();
  const channels = useChannels(true);
  return (
    <Panel flush>
      <Loaded query={channels} skeleton={<RowSkeleton rows={4} height={29} />}>
        {(rows) =>
          rows.length > 0 ? (
            <ChannelsTable channels={rows} />
          ) : (
            <Empty title={t("channels.empty")}>{t("channels.emptyText")}</Empty>
          )
        }
      </Loaded>
      {adding && may("channel.manage") && <ChannelDialog onClose={onClose} />}
    </Panel>
  );
}
