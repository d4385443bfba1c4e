import { Button, Textarea } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { PlaybookCheck } from "../../client/types";
import { Grid } from "../../components/Grid";
import { Mark } from "../../components/Mark";
import { Panel } from "../../components/Page";
import { ErrorLine } from "../../components/States";
import { useSentence } from "../../lib/i18n";
import { post } from "../../lib/queries";
import { PlaybookDetail } from "./PlaybookDetail";
import classes from "./Playbooks.module.css";

/** A playbook of one's own: every mistake with its place, or what it looks like. Nothing of it is kept. */
export function OwnCheck() {
  const { t } = useTranslation();
  const sentence = useSentence();
  const [text, setText] = useState("");
  const check = useMutation({
    mutationFn: (yaml: string) => post<PlaybookCheck>("/playbooks/check", { text: yaml }),
  });
  const { data } = check;
  return (
    <>
      <Panel title={t("playbooks.own")} aside={t("playbooks.ownAside")}>
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
          {data && data.problems.length === 0 && <Mark tone="ok">{t("playbooks.sound")}</Mark>}
          {data && data.problems.length > 0 && (
            <>
              <p className={classes.line}>
                <Mark tone="bad">{t("playbooks.problems", { count: data.problems.length })}</Mark>
              </p>
              <Grid stack label={t("playbooks.problemsTitle")}>
                <thead>
                  <tr>
                    <th>{t("playbooks.where")}</th>
                    <th>{t("playbooks.wrong")}</th>
                  </tr>
                </thead>
                <tbody>
                  {data.problems.map((one, i) => (
                    <tr key={`${one.where}${i}`}>
                      <td className="mono">{one.where || "–"}</td>
                      <td className={classes.wrong}>{sentence(one.what)}</td>
                    </tr>
                  ))}
                </tbody>
              </Grid>
            </>
          )}
        </div>
      </Panel>
      {data?.playbook && <PlaybookDetail playbook={data.playbook} preview />}
    </>
  );
}
