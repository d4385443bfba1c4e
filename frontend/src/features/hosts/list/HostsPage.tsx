import { Button, Checkbox, SegmentedControl, Select, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { Camera, FileInput, Plus, Search as SearchIcon } from "lucide-react";
import { lazy, Suspense, useEffect, useMemo, useState } from "react";
import type { Host } from "../../../client/models";
import { EmptyState, QueryContent, RowSkeleton } from "../../../components/EmptyState";
import { ButtonLink } from "../../../components/Link";
import { Page, Panel } from "../../../components/Page";
import { useOpenDialog } from "../../../lib/dialogs";
import { useHosts, usePermission } from "../../../lib/queries";
import { useTranslation } from "../../../lib/text/useTranslation";
import { choiceField, flagField, textField, useUrlState } from "../../../lib/urlState";
import { useSlashFocus } from "../../../lib/useSlashFocus";
import classes from "./HostsPage.module.css";
import { HostsTable } from "./HostsTable";

const BulkImport = lazy(() =>
  import("../forms/BulkImportDialog").then((m) => ({ default: m.BulkImportDialog })),
);

const FIELDS = {
  q: textField,
  label: textField,
  state: choiceField(["active", "retired", "imported", "all"], "active"),
  bulk: flagField,
};

/** Return all labels of the hosts as `name:value`, most frequent first. */
export function listLabelChoices(hosts: readonly Host[]): string[] {
  const counts = new Map<string, number>();
  for (const host of hosts)
    for (const [name, value] of Object.entries(host.labels)) {
      const label = `${name}:${value}`;
      counts.set(label, (counts.get(label) ?? 0) + 1);
    }
  return [...counts].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0])).map(([label]) => label);
}

export function HostsPage() {
  const { t } = useTranslation();
  const can = usePermission();
  const openDialog = useOpenDialog();
  const [view, setView] = useUrlState(FIELDS);
  const [typed, setTyped] = useState(view.q);
  const [q] = useDebouncedValue(typed, 200);
  const field = useSlashFocus();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => {
    if (q !== view.q) setView({ q });
  }, [q, view.q, setView]);
  const everything = useHosts();
  const filter = {
    q: view.q || undefined,
    label: view.label ? [view.label] : undefined,
    state: view.state === "all" ? undefined : view.state,
  };
  const hosts = useHosts(filter);
  const labels = useMemo(() => listLabelChoices(everything.data ?? []), [everything.data]);
  const visible = hosts.data ?? [];
  const picked = visible.filter((host) => chosen.has(host.id));
  const filtered = Boolean(view.q || view.label || view.state !== "active");
  return (
    <Page
      title={t("hosts.title")}
      meta={hosts.data && <span className="num">{t("hosts.count", { count: hosts.data.length })}</span>}
      actions={
        <>
          {can("capture.light") && (
            <Button
              leftSection={<Camera size={14} />}
              disabled={picked.length === 0}
              variant={picked.length === 0 ? "default" : "filled"}
              onClick={() =>
                openDialog(
                  "capture",
                  picked.map((host) => host.id),
                )
              }
            >
              {picked.length === 0 ? t("hosts.captureNone") : t("hosts.captureOn", { count: picked.length })}
            </Button>
          )}
          {can("host.add") && (
            <>
              <Button
                variant="default"
                leftSection={<FileInput size={14} />}
                onClick={() => setView({ bulk: true })}
              >
                {t("hosts.bulk")}
              </Button>
              <ButtonLink to="/hosts/new" variant="default" leftSection={<Plus size={14} />}>
                {t("nav.addHost")}
              </ButtonLink>
            </>
          )}
        </>
      }
    >
      <div className={classes.filters}>
        <TextInput
          ref={field}
          className={classes.search ?? ""}
          leftSection={<SearchIcon size={14} />}
          rightSection={<kbd className="dim">/</kbd>}
          placeholder={t("hosts.search")}
          aria-label={t("hosts.search")}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        <Select
          className={classes.label ?? ""}
          data={labels.map((value) => ({ value, label: value.replace(":", "=") }))}
          value={view.label || null}
          onChange={(label) => setView({ label: label ?? "" })}
          placeholder={t("hosts.anyLabel")}
          aria-label={t("hosts.label")}
          searchable
          clearable
          limit={60}
          size="sm"
        />
        <SegmentedControl
          size="xs"
          value={view.state}
          onChange={(state) => setView({ state: state as typeof view.state })}
          data={["active", "imported", "retired", "all"].map((value) => ({
            value,
            label: t(`hosts.state.${value}` as "hosts.state.all"),
          }))}
          aria-label={t("hosts.stateFilter")}
        />
      </div>
      <Panel flush>
        <QueryContent query={hosts} skeleton={<RowSkeleton rows={16} height={29} />}>
          {(rows) =>
            rows.length > 0 ? (
              <HostsTable
                hosts={rows}
                chosen={chosen}
                onChoose={setChosen}
                mark={(props) => <Checkbox size="xs" {...props} />}
                onLabel={(label) => setView({ label })}
              />
            ) : filtered ? (
              <EmptyState
                title={t("hosts.noMatch")}
                action={
                  <Button
                    variant="default"
                    onClick={() => {
                      setTyped("");
                      setView({ q: "", label: "", state: "active" });
                    }}
                  >
                    {t("hosts.clear")}
                  </Button>
                }
              />
            ) : (
              <EmptyState
                title={t("hosts.empty")}
                action={can("host.add") && <ButtonLink to="/hosts/new">{t("nav.addHost")}</ButtonLink>}
              >
                {t("hosts.emptyText")}
              </EmptyState>
            )
          }
        </QueryContent>
      </Panel>
      <Suspense>{view.bulk && <BulkImport onClose={() => setView({ bulk: false })} />}</Suspense>
    </Page>
  );
}
