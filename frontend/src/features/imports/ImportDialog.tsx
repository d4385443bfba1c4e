import { Button, FileInput, Select, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Upload } from "lucide-react";
import { useState } from "react";
import type { Capture } from "../../client/models";
import { Dialog } from "../../components/Dialog";
import { ErrorLine } from "../../components/EmptyState";
import { CommandLine } from "../../components/fields/CopyButton";
import { formatBytes } from "../../core/text/format";
import { callApi } from "../../lib/api";
import { queryKeys, useHosts } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import type { ImportedIncident } from "./api";
import classes from "./ImportDialog.module.css";
import { UploadAddressForm } from "./UploadAddressForm";

const KINDS = [
  "auto",
  "bundle",
  "incident",
  "perf_data",
  "perf_script",
  "folded",
  "pprof",
  "speedscope",
  "chrome_trace",
  "cpuprofile",
  "firefox",
  "bpftrace",
  "jaeger",
  "zipkin",
  "otlp",
  "prometheus",
  "wrk",
  "vegeta",
  "iperf3",
  "jmeter",
] as const;
type Kind = (typeof KINDS)[number];
const MAX_BYTES = 256 * 1024 * 1024;

/** Return whether a file is an incident bundle, the only importable format with the suffix `.zip`. */
function isIncident(file: File, kind: Kind) {
  return kind === "incident" || (kind === "auto" && file.name.toLowerCase().endsWith(".zip"));
}

/** Dialog that imports a file as a capture with one run, or an incident bundle as an incident. */
export function ImportDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const cache = useQueryClient();
  const hosts = useHosts();
  const [file, setFile] = useState<File | null>(null);
  const [kind, setKind] = useState<Kind>("auto");
  const [host, setHost] = useState<string | null>(null);
  const [name, setName] = useState("");
  const [once] = useState(() => crypto.randomUUID());
  const tooLarge = file !== null && file.size > MAX_BYTES;
  const isBundle = file !== null ? isIncident(file, kind) : kind === "incident";
  const send = useMutation({
    mutationFn: async (chosen: File) => {
      const body = new FormData();
      body.append("file", chosen);
      if (isIncident(chosen, kind)) {
        const incident = await callApi<ImportedIncident>("POST", "/incidents/import", {
          body,
          once: `${once}-${chosen.name}-${chosen.size}-incident`,
        });
        return { incident, capture: null };
      }
      body.append("kind", kind);
      if (host) body.append("host_id", host);
      if (name.trim()) body.append("name", name.trim());
      const capture = await callApi<Capture>("POST", "/imports", {
        body,
        once: `${once}-${chosen.name}-${chosen.size}-${kind}`,
      });
      return { incident: null, capture };
    },
    onSuccess: ({ incident, capture }) => {
      if (incident) {
        void cache.invalidateQueries({ queryKey: ["incidents"] });
        void navigate({ to: "/incidents/$incidentId", params: { incidentId: incident.id } });
        return;
      }
      void cache.invalidateQueries({ queryKey: queryKeys.captures });
      const run = capture.runs[0];
      void (run
        ? navigate({ to: "/runs/$runId", params: { runId: run.id } })
        : navigate({ to: "/captures/$captureId", params: { captureId: capture.id } }));
    },
  });
  return (
    <Dialog onClose={onClose} title={t("import.title")} size="lg">
      <form
        className={classes.form}
        onSubmit={(event) => {
          event.preventDefault();
          if (file && !tooLarge) send.mutate(file);
        }}
      >
        <FileInput
          label={t("import.file")}
          description={t("import.fileText")}
          placeholder={t("import.choose")}
          value={file}
          onChange={(chosen) => {
            setFile(chosen);
            send.reset();
          }}
          error={
            tooLarge
              ? t("import.tooLarge", { size: formatBytes(file.size), limit: formatBytes(MAX_BYTES) })
              : undefined
          }
          clearable
          data-autofocus
        />
        <Select
          label={t("import.kind")}
          data={KINDS.map((value) => ({ value, label: t(`import.kinds.${value}`) }))}
          value={kind}
          onChange={(value) => {
            setKind((value ?? "auto") as Kind);
            send.reset();
          }}
        />
        <Select
          label={t("import.host")}
          placeholder={t("captures.noHost")}
          description={t(isBundle ? "import.incidentText" : "import.hostText")}
          data={(hosts.data ?? []).map((host) => ({ value: host.id, label: host.name }))}
          value={host}
          onChange={setHost}
          disabled={isBundle}
          searchable
          clearable
          limit={50}
        />
        <TextInput
          label={t("import.name")}
          value={name}
          maxLength={200}
          disabled={isBundle}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        {send.error && (
          <div className={classes.error}>
            <ErrorLine error={send.error} />
          </div>
        )}
        {send.isPending && isBundle && file && (
          <p className={classes.uploadStatus} role="status">
            {t("import.sendingIncident", { size: formatBytes(file.size) })}
          </p>
        )}
        <div className={classes.buttons}>
          <Button variant="default" onClick={onClose}>
            {t("action.cancel")}
          </Button>
          <Button
            type="submit"
            leftSection={<Upload size={14} />}
            disabled={!file || tooLarge}
            loading={send.isPending}
          >
            {t("import.send")}
          </Button>
        </div>
      </form>
      <div className={classes.bundle}>
        <strong>{t("import.bundleTitle")}</strong>
        <p>{t("import.bundleText")}</p>
        <CommandLine text="./culprit capture script > culprit-capture.sh" prompt />
        <CommandLine text="sh culprit-capture.sh > culprit.bundle" prompt />
        <p>
          <a href="/api/v1/catalog/capture-script?plan=cpu" download="culprit-capture.sh">
            {t("import.bundleHere")}
          </a>
        </p>
      </div>
      <UploadAddressForm hosts={hosts.data ?? []} />
    </Dialog>
  );
}
