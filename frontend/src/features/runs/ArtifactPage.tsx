import { Button, NumberInput } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useLocation, useParams } from "@tanstack/react-router";
import { Download } from "lucide-react";
import { type MouseEvent, useEffect, useMemo, useRef } from "react";
import { EmptyState, QueryContent } from "../../components/EmptyState";
import { Page, Panel } from "../../components/Page";
import { get } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import { intField, listField, useUrlState } from "../../lib/urlState";
import { PinButton } from "../../widgets/pins/PinButton";
import classes from "./Run.module.css";

const WINDOW = 400;
const BEFORE = 40;
const FIELDS = { line: intField, lines: listField, from: intField };
const MAX_CITED = 30;
const MAX_PINNED = 200;
/** Maximum number of marked lines in the URL. */
const MAX_MARKED = 40;

/** Original lines of an artifact; cited lines are marked, and the first of them is scrolled into view. */
export function ArtifactPage() {
  const { artifactId } = useParams({ strict: false }) as { artifactId: string };
  const { t } = useTranslation();
  const [state, set] = useUrlState(FIELDS);
  const { hash } = useLocation();
  const cited = state.line ?? (/^L(\d{1,9})$/.test(hash) ? Number(hash.slice(1)) : undefined);
  const marked = useMemo(
    () => new Set([...(cited ? [cited] : []), ...state.lines.map(Number).filter((line) => line >= 1)]),
    [cited, state.lines],
  );
  const from = Math.max(1, state.from ?? (cited ? cited - BEFORE : 1));
  const query = useQuery({
    queryKey: ["artifacts", artifactId, from],
    queryFn: () => get(`/artifacts/${artifactId}/lines`, { from, count: WINDOW }),
    placeholderData: keepPreviousData,
  });
  const ownMark = useRef(false);
  const loaded = query.data !== undefined && !query.isPlaceholderData;
  useEffect(() => {
    // A line that the user marked is already visible, so only a line from the URL is scrolled into view.
    if (ownMark.current) ownMark.current = false;
    else if (loaded && cited) document.getElementById(`L${cited}`)?.scrollIntoView({ block: "center" });
  }, [loaded, cited]);
  /** Mark a line on click; Shift marks the range up to it, Ctrl or Cmd toggles it. */
  const mark = (event: MouseEvent, line: number) => {
    event.preventDefault();
    ownMark.current = true;
    const first = cited ?? line;
    const [low, high] = [Math.min(first, line), Math.max(first, line)];
    if (event.shiftKey)
      set({
        from,
        line: first,
        lines: Array.from({ length: Math.min(MAX_MARKED, high - low + 1) }, (_, i) => String(low + i)),
      });
    else if (event.ctrlKey || event.metaKey) {
      const next = new Set(marked);
      if (!next.delete(line)) next.add(line);
      const lines = [...next].sort((x, y) => x - y).slice(0, MAX_MARKED);
      set({ from, line: lines[0], lines: lines.length > 1 ? lines.map(String) : [] });
    } else set({ from, line, lines: [] });
  };
  const last = query.data ? query.data.from + query.data.lines.length - 1 : 0;
  const atEnd = query.data ? query.data.lines.length < WINDOW : true;
  return (
    <Page
      title={t("artifact.title")}
      meta={query.data?.total != null && t("artifact.lines", { count: query.data.total })}
      actions={
        <>
          <PinButton
            target={{
              kind: "line",
              ref: { artifact_id: artifactId, lines: [...marked].sort((x, y) => x - y).slice(0, MAX_PINNED) },
            }}
            label={t("incidents.pin.lines")}
            disabled={marked.size === 0}
          />
          <Button
            component="a"
            variant="default"
            leftSection={<Download size={14} />}
            href={`/api/v1/artifacts/${artifactId}/content`}
            download
          >
            {t("run.download")}
          </Button>
        </>
      }
    >
      <Panel
        flush
        title={<span className="mono">{t("artifact.window", { from, to: last })}</span>}
        headerExtra={
          <>
            <Button
              variant="default"
              disabled={from <= 1}
              onClick={() => set({ from: Math.max(1, from - WINDOW) })}
            >
              {t("artifact.earlier")}
            </Button>
            <Button variant="default" disabled={atEnd} onClick={() => set({ from: from + WINDOW })}>
              {t("artifact.later")}
            </Button>
            <NumberInput
              size="xs"
              w={120}
              min={1}
              hideControls
              aria-label={t("artifact.goto")}
              placeholder={t("artifact.goto")}
              onKeyDown={(event) => {
                const line = Number(event.currentTarget.value);
                if (event.key === "Enter" && line >= 1) set({ line, from: undefined }, { push: true });
              }}
            />
          </>
        }
      >
        {marked.size > 1 && (
          <p className={classes.citedLines}>
            <span className="dim">{t("artifact.cited")}</span>
            {[...marked]
              .sort((x, y) => x - y)
              .slice(0, MAX_CITED)
              .map((line) => (
                <Button
                  key={line}
                  size="compact-xs"
                  variant={line === cited ? "light" : "default"}
                  aria-current={line === cited || undefined}
                  onClick={() => set({ line, from: undefined })}
                >
                  {line}
                </Button>
              ))}
          </p>
        )}
        <QueryContent query={query}>
          {(data) =>
            data.lines.length === 0 ? (
              <EmptyState title={t("artifact.empty")} />
            ) : (
              <section className={classes.lines} aria-label={t("artifact.title")}>
                {data.lines.map((line, i) => {
                  const number = data.from + i;
                  return (
                    <div
                      key={number}
                      id={`L${number}`}
                      className={classes.line}
                      {...(marked.has(number) ? { "data-cited": "" } : {})}
                    >
                      <a
                        href={`#L${number}`}
                        onClick={(event) => mark(event, number)}
                        title={t("artifact.mark")}
                      >
                        {number}
                      </a>
                      <span>{line}</span>
                    </div>
                  );
                })}
              </section>
            )
          }
        </QueryContent>
      </Panel>
    </Page>
  );
}
