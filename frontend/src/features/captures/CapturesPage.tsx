import { Button, Select } from "@mantine/core";
import { Camera, FileInput } from "lucide-react";
import { useState } from "react";
import type { Capture } from "../../client/models";
import { EmptyState, ErrorLine, QueryContent, RowSkeleton } from "../../components/EmptyState";
import { Page, Panel } from "../../components/Page";
import { useOpenDialog } from "../../lib/dialogs";
import { useCaptures, usePermission } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import { choiceField, useUrlState } from "../../lib/urlState";
import { CapturesTable } from "../../widgets/capture-progress/CapturesTable";
import { useOlderCaptures } from "./api";

const STATES = ["", "running", "done", "partial", "failed", "canceled", "expired"] as const;
const FIELDS = { state: choiceField(STATES, "") };
/** The list scrolls below the title, so that the names of its columns stay in view. */
const LIST_HEIGHT = "max(320px, calc(100dvh - 204px))";

/** Return the captures of all pages once: while a new capture moves the pages, two of them can have the same. */
const joinPages = (newest: readonly Capture[], pages: readonly { items: Capture[] }[]): Capture[] => [
  ...new Map(
    [...newest, ...pages.flatMap((page) => page.items)].map((capture) => [capture.id, capture]),
  ).values(),
];

export function CapturesPage() {
  const { t } = useTranslation();
  const can = usePermission();
  const openDialog = useOpenDialog();
  const [{ state }, setView] = useUrlState(FIELDS);
  // The state whose older captures are displayed, so that another state begins with its newest.
  const [olderOf, setOlderOf] = useState<string>();
  const filter = { state: state || undefined };
  const captures = useCaptures(filter);
  const cursor = captures.data?.next ?? null;
  const isLonger = olderOf === state && cursor !== null;
  const older = useOlderCaptures(filter, cursor, isLonger);
  const olderPages = isLonger ? (older.data?.pages ?? []) : [];
  const hasMore = isLonger ? older.hasNextPage || !older.data : cursor !== null;
  const loadMore = () => {
    if (!isLonger) setOlderOf(state);
    else void (older.data ? older.fetchNextPage() : older.refetch());
  };
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
          {({ items }) =>
            items.length > 0 ? (
              <>
                <CapturesTable captures={joinPages(items, olderPages)} maxHeight={LIST_HEIGHT} />
                {isLonger && <ErrorLine error={older.error} />}
                {hasMore && (
                  <Button
                    variant="subtle"
                    fullWidth
                    loading={isLonger && older.isFetching}
                    onClick={loadMore}
                  >
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
