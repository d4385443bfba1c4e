import { Button, Textarea } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { ErrorLine } from "../../components/EmptyState";
import { Panel } from "../../components/Page";
import { StatusIcon } from "../../components/StatusIcon";
import { DataTable } from "../../components/tables/DataTable";
import { post } from "../../lib/queries";
import { useMessage } from "../../lib/text/i18n";
import { useTranslation } from "../../lib/text/useTranslation";
import { PlaybookDetail } from "./PlaybookDetail";
import classes from "./Playbooks.module.css";

/** Form that validates a custom playbook and shows its errors or a preview. Nothing is stored. */
export function CustomPlaybookCheck() {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const [text, setText] = useState("");
  const check = useMutation({
    mutationFn: (yaml: string) => post("/playbooks/check", { text: yaml }),
  });
  const { data } = check;
  return (
    <>
      <Panel title={t("playbooks.custom")} headerExtra={t("playbooks.customHint")}>
        <form
          className={classes.form}
          onSubmit={(event) => {
            event.preventDefault();
            if (text.trim()) check.mutate(text);
          }}
        >
          <Textarea
            label={t("playbooks.yaml")}
            description={t("playbooks.yamlText")}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            classNames={{ input: classes.yaml ?? "" }}
            spellCheck={false}
            autosize
            minRows={10}
            maxRows={24}
          />
          <div>
            <Button type="submit" size="xs" disabled={!text.trim()} loading={check.isPending}>
              {t("playbooks.check")}
            </Button>
          </div>
        </form>
        <ErrorLine error={check.error} />
        <div aria-live="polite">
          {data && data.problems.length === 0 && <StatusIcon tone="ok">{t("playbooks.valid")}</StatusIcon>}
          {data && data.problems.length > 0 && (
            <>
              <p className={classes.line}>
                <StatusIcon tone="bad">{t("playbooks.problems", { count: data.problems.length })}</StatusIcon>
              </p>
              <DataTable stack label={t("playbooks.problemsTitle")}>
                <thead>
                  <tr>
                    <th>{t("playbooks.where")}</th>
                    <th>{t("playbooks.error")}</th>
                  </tr>
                </thead>
                <tbody>
                  {data.problems.map((problem, i) => (
                    <tr key={`${problem.location}${i}`}>
                      <td className="mono">{problem.location || "–"}</td>
                      <td className={classes.error}>{formatMessage(problem.what)}</td>
                    </tr>
                  ))}
                </tbody>
              </DataTable>
            </>
          )}
        </div>
      </Panel>
      {data?.playbook && <PlaybookDetail playbook={data.playbook} preview />}
    </>
  );
}
