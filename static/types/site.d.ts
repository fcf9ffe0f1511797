/** Which state of the site's files static/site/service_worker.js copies: the build writes it into that file. */
declare const VERSION: string;
