import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { CaptureScope } from "../../client/models";
import { post } from "../api";

export interface PreviewBody {
  host_ids: readonly string[];
  plan: string;
  seconds?: number;
  collectors?: readonly string[];
  scope?: CaptureScope;
  options?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  service?: boolean;
}

/** Fetch the preview of a capture: its commands and their cost. Nothing runs on a host. */
export const useCapturePreview = (body: PreviewBody, enabled: boolean) =>
  useQuery({
    queryKey: ["preview", body],
    queryFn: () => post("/captures/preview", body),
    enabled,
    placeholderData: keepPreviousData,
    retry: false,
  });
