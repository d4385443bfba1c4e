import { Button, FileButton, NumberInput, Select, Textarea, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Dialog } from "../../../components/Dialog";
import { ErrorLine } from "../../../components/EmptyState";
import { RunStateIcon } from "../../../components/StatusIcon";
import { DataTable } from "../../../components/tables/DataTable";
import { post } from "../../../lib/api";
import { queryKeys } from "../../../lib/queries";
import { useMessage } from "../../../lib/text/i18n";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "./forms.module.css";
import { useCredentials } from "./useCredentials";

const FORMATS = ["ssh_config", "ansible", "csv", "known_hosts"] as const;
type Format = (typeof FORMATS)[number];

const EXAMPLES: Record<Format, string> = {
  ssh_config: "Host feed-1\n  HostName 10.40.0.11\n  User culprit",
  ansible: "[feed]\nfeed-1 ansible_host=10.40.0.11 ansible_user=culprit",
  csv: "name,address,port,username,labels\nfeed-1,10.40.0.11,22,culprit,role=feed",
  known_hosts: "10.40.0.11 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA…",
};

/** Guess the format of a file from its name; the default is ssh_config. */
export function guessFormat(name: string): Format {
  if (/known_hosts/i.test(name)) return "known_hosts";
  if (/\.csv$/i.test(name)) return "csv";
  if (/\.(ini|ya?ml)$|inventory|hosts$/i.test(name)) return "ansible";
  return "ssh_config";
}

/** Dialog that adds many hosts from text: it previews the result for each host, then adds them. */
export function BulkImportDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const cache = useQueryClient();
  const credentials = useCredentials();
  const [format, setFormat] = useState<Format>("ssh_config");
  const [text, setText] = useState("");
  const [username, setUsername] = useState("");
  const [port, setPort] = useState<number | string>(22);
  const [credential, setCredential] = useState<string | null>(null);
  const send = useMutation({
    mutationFn: (dryRun: boolean) =>
      post("/hosts/import", {
        format,
        text,
        defaults: {
          ...(username ? { username } : {}),
          ...(port ? { port: Number(port) } : {}),
          ...(credential ? { credential_id: credential } : {}),
        },
        dry_run: dryRun,
      }),
    onSuccess: (answer, dryRun) => {
      if (!dryRun && answer.added > 0) void cache.invalidateQueries({ queryKey: queryKeys.hosts });
    },
  });
  const busy = (dryRun: boolean) => send.status === "pending" && send.variables === dryRun;
  const answer = send.data;
  const addable = answer?.rows.filter((row) => row.verdict === "ok").length ?? 0;
  const changed =
    <X,>(set: (value: X) => void) =>
    (value: X) => {
      set(value);
      send.reset();
    };
  return (
    <Dialog onClose={onClose} title={t("bulk.title")} size="80rem">
      <div className={classes.stack}>
        <div className={classes.row}>
          <Select
            label={t("bulk.format")}
            data={FORMATS.map((value) => ({ value, label: t(`bulk.formats.${value}`) }))}
            value={format}
            onChange={(value) => changed(setFormat)((value ?? "ssh_config") as Format)}
          />
          <TextInput
            label={t("bulk.username")}
            description={t("bulk.default")}
            value={username}
            onChange={(event) => changed(setUsername)(event.currentTarget.value)}
          />
          <NumberInput
            label={t("bulk.port")}
            description={t("bulk.default")}
            value={port}
            min={1}
            max={65535}
            onChange={changed(setPort)}
          />
          <Select
            label={t("bulk.credential")}
            description={t("bulk.default")}
            data={(credentials.data ?? []).map((c) => ({ value: c.id, label: c.name }))}
            value={credential}
            onChange={changed(setCredential)}
            clearable
          />
        </div>
        <Textarea
          label={t("bulk.text")}
          autosize
          minRows={6}
          maxRows={14}
          classNames={{ input: "mono" }}
          placeholder={EXAMPLES[format]}
          value={text}
          onChange={(event) => changed(setText)(event.currentTarget.value)}
          spellCheck={false}
        />
        <div className={classes.buttons}>
          <FileButton
            onChange={(file) => {
              if (!file) return;
              setFormat(guessFormat(file.name));
              void file.text().then(changed(setText));
            }}
          >
            {(props) => (
              <Button variant="default" {...props}>
                {t("bulk.file")}
              </Button>
            )}
          </FileButton>
          <Button
            variant={answer ? "default" : "filled"}
            disabled={!text.trim()}
            loading={busy(true)}
            onClick={() => send.mutate(true)}
          >
            {t("bulk.preview")}
          </Button>
          {answer && addable > 0 && (
            <Button loading={busy(false)} onClick={() => send.mutate(false)}>
              {t("bulk.add", { count: addable })}
            </Button>
          )}
          {answer && answer.added > 0 && <Button onClick={onClose}>{t("action.close")}</Button>}
        </div>
        <ErrorLine error={send.error} />
        {answer && (
          <>
            <p className={classes.note} role="status">
              {answer.added > 0
                ? t("bulk.added", { count: answer.added })
                : answer.rows.length === 0
                  ? t("bulk.empty")
                  : t("bulk.previewText", { count: addable, total: answer.rows.length })}
            </p>
            {answer.rows.length > 0 && (
              <DataTable stack label={t("bulk.verdicts")} maxHeight={360}>
                <thead>
                  <tr>
                    <th className="right">{t("bulk.line")}</th>
                    <th>{t("hosts.name")}</th>
                    <th>{t("hosts.address")}</th>
                    <th>{t("bulk.verdict")}</th>
                    <th>{t("bulk.reason")}</th>
                  </tr>
                </thead>
                <tbody>
                  {answer.rows.map((row) => (
                    <tr key={`${row.line}-${row.name}`}>
                      <td className="num right">{row.line}</td>
                      <td>{row.name}</td>
                      <td className="num">
                        {row.username ? `${row.username}@` : ""}
                        {row.address}
                        {row.port ? `:${row.port}` : ""}
                      </td>
                      <td>
                        <RunStateIcon state={row.verdict} />
                      </td>
                      <td>{formatMessage(row.reason)}</td>
                    </tr>
                  ))}
                </tbody>
              </DataTable>
            )}
          </>
        )}
      </div>
    </Dialog>
  );
}
