import { Button, Select } from "@mantine/core";
import { Camera, FileInput } from "lucide-react";
import { useState } from "react";
import { EmptyState, QueryContent, RowSkeleton } from "../../components/EmptyState";
import { Page, Panel } from "../../components/Page";
import { useOpenDialog } from "../../lib/dialogs";
import { useCaptures, usePermission } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import { choiceField, useUrlState } from "../../lib/urlState";
import { CapturesTable } from "../../widgets/capture-progress/CapturesTable";

const STATES = ["", "running", "done", "partial", "failed", "canceled", "expired"] as const;
const FIELDS = { state: choiceField(STATES, "") };
const PAGE = 100;

export function CapturesPage() {
  const { t } = useTranslation();
  const can = usePermission();
  const openDialog = useOpenDialog();
  const [{ state }, setView] = useUrlState(FIELDS);
  const [limit, setLimit] = useState(PAGE);
  const captures = useCaptures({ state: state || undefined }, limit);
  return (
    <Page
      title={t("nav.captures")}
      actions={
        <>
          <Select
            size="xs"
            w={150}
            data={STATES.map((value) => ({
              value,
              label: value ? t(`state.${value}`) : t("captures.anyState"),
            }))}
            value={state}
            onChange={(value) => setView({ state: (value ?? "") as (typeof STATES)[number] })}
            aria-label={t("captures.state")}
          />
          {can("capture.import") && (
            <Button
              variant="default"
              leftSection={<FileInput size={14} />}
              onClick={() => openDialog("import")}
            >
              {t("nav.import")}
            </Button>
          )}
          {can("capture.light") && (
            <Button leftSection={<Camera size={14} />} onClick={() => openDialog("capture")}>
              {t("nav.newCapture")}
            </Button>
          )}
        </>
      }
    >
      <Panel flush>
        <QueryContent query={captures} skeleton={<RowSkeleton rows={16} height={29} />}>
          {({ items, next }) =>
            items.length > 0 ? (
              <>
                <CapturesTable captures={items} />
                {next && limit < 200 && (
                  <Button variant="subtle" fullWidth onClick={() => setLimit(200)}>
                    {t("action.more")}
                  </Button>
                )}
              </>
            ) : (
              <EmptyState
                title={state ? t("captures.noneInState") : t("captures.none")}
                action={
                  state ? (
                    <Button variant="default" onClick={() => setView({ state: "" })}>
                      {t("hosts.clear")}
                    </Button>
                  ) : (
                    can("capture.light") && (
                      <Button onClick={() => openDialog("capture")}>{t("nav.newCapture")}</Button>
                    )
                  )
                }
              >
                {!state && t("captures.noneText")}
              </EmptyState>
            )
          }
        </QueryContent>
      </Panel>
    </Page>
  );
}
