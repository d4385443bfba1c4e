import { useQuery } from "@tanstack/react-query";
import { get } from "../../../lib/api";

/** The stored credentials; only those who may manage them can list them. */
export const useCredentials = () =>
  useQuery({
    queryKey: ["credentials"],
    queryFn: () => get("/credentials", { limit: 200 }).then((page) => page.items),
  });
