"""What people say in the generated sessions: per language, one pool for development seeds and one for held-back seeds.

A line is ``kind: text``. ``*stars*`` mark what has to survive, and so does ``{v}`` (a value) or ``{a}`` (what was chosen).
``{n}`` is a thing with a value, ``{o}`` its old value, ``{b}`` the option not taken, ``{p}`` a made-up name. The two pools of
a language share no template and no noun. Kinds: rule, fact, decision, task, preference, old and new (a value and its
update), update (both in one saying about a name), noun (with the type of its value), wrap (small talk around an item),
user and say (noise).
"""

from __future__ import annotations

from typing import Final

DEVELOPMENT: Final = {
    "en": """
rule: Never run *migrations* against {p}, not even read-only ones.
rule: Whatever happens, the *{p}* branch is off limits for force *pushes*.
rule: Nobody deploys {p} on *Fridays*.
rule: Do not email *customers* from {p} without asking me first.
rule: You must keep *patient names* out of the logs.
rule: I lost a weekend once because someone restarted {p} by hand, so hands off the *restart* button there.
rule: Under no circumstances may *card numbers* leave {p}.
rule: Refunds above *400 euros* need a human to sign them.
rule: The *{p}* folder is read-only for you.
fact: The {n} is {v}.
fact: {n}: {v}
fact: For the record, we have {v} as {n}.
fact: You will find the {n} under {v}.
fact: When you get to it, {v} is what the {n} should show.
fact: I wrote down {v} for the {n} during the call.
fact: btw {n} = {v}
fact: Ops told us the {n} they see is {v}, which matches my notes.
decision: We decided to go with {a} because {b} cannot stream.
decision: After the meeting: {a} it is, since nobody here maintains {b}.
decision: Let's use {a} instead of {b}, it is cheaper to run.
decision: I compared both and picked {a}; {b} leaks memory under load.
decision: The team settled on {a}, mainly for the licence.
decision: {a} won against {b} on latency, so that is what we build on.
task: We still need to *rotate the signing keys* for {p}.
task: TODO: write the *rollback runbook* of {p}
task: Somebody has to *translate the onboarding mail* before launch.
task: Open from yesterday: *backfill the March partitions*.
task: Remind me to *renew the wildcard certificate*.
task: The *flaky upload test* in {p} waits for its fix.
task: Once this is through, please *archive the old dashboards* as well.
preference: I prefer *short bullet lists* over prose.
preference: Please answer in *British spelling* from now on.
preference: I like *aisle seats* better.
preference: Keep commit titles in the *imperative mood*, that is how I read them.
preference: Charts without *gridlines* are easier on my eyes.
preference: Call me *Commander* in reports, it is a running joke.
old: The {n} is {v}.
old: Set the {n} to {v} for now.
old: We run with {v} as {n}.
old: Start with a {n} of {v}.
old: Build the first version with {v} as the {n} and show me the result.
new: Correction: the {n} is {v}.
new: Actually, make the {n} {v}.
new: The {n} has changed to {v}.
new: The {n} is no longer {o}; it is {v} now.
new: Use {v} instead of {o} for the {n}.
new: We moved the {n} from {o} to {v}.
new: Scratch what I said about the {n}, {v} is right.
noun: staging port|port
noun: retry limit|number
noun: export folder|path
noun: release tag|version
noun: incident ticket|ticket
noun: upload quota|size
noun: database host|host
noun: hotel budget|money
noun: on-call contact|person
noun: failing assertion|error
wrap: Thanks, that looks good so far. {x} Then carry on where you were.
wrap: I had a quick look at the output and have no complaints. {x} Let me know how far you get.
wrap: Sorry for the late answer, the train was full. {x}
wrap: Two things:\\n- the layout is fine\\n- {x}
wrap: Before lunch I want to see a draft. {x} And tell me if anything looks odd to you in the numbers.
user: Looks fine, please go on.
user: Can you check why this one is slower than yesterday?
user: Hm, interesting. What does the next file say?
user: ok
user: Show me the first rows, then continue with the rest.
user: I am back from lunch, how is it going?
user: Could you explain that last step to me once more?
say: Let me look at the next part of the output before I change anything.
say: That ran through without surprises; the numbers are in the usual range.
say: I read the file and the structure is what I expected.
say: Checking the neighbouring module now to see who calls it.
say: The listing shows nothing unusual, so I continue with the next item.
say: Understood.
user: The chart for {q} shows {d} rows, is that plausible?
user: I just scrolled through {f} and it reads well. What comes after it?
user: Took a coffee while {q} was running, {d} seconds is a long time, but never mind.
say: I went through {q}: {d} entries, a handful of them duplicated, nothing that needs action.
say: {f} has {d} lines and three classes; the second one does the work.
say: The run of {q} took {d} ms, about the same as before.
""",
    "de": """
rule: Auf {p} niemals *Migrationen* ausführen.
rule: Bitte keine *Kundendaten* aus {p} in Tickets kopieren.
rule: Der Ordner *{p}* ist für dich tabu.
rule: *Überweisungen* gehen nur nach Freigabe durch Frau Lindner raus.
fact: {n}: {v}
fact: Der Wert für {n} lautet {v}.
fact: Laut Vertrag steht bei {n} {v}.
fact: Ich habe mir {v} als {n} notiert.
decision: Wir haben uns für {a} entschieden, weil {b} zu langsam ist.
decision: {a} statt {b}, das ist im Betrieb günstiger.
decision: Nach dem Vergleich bleibt es bei {a}, {b} pflegt hier niemand.
task: Wir müssen noch die *Archivkopien prüfen*.
task: Offen ist weiterhin die *Übersetzung der Rechnungsvorlage*.
task: Erinnere mich daran, das *Wartungsfenster anzumelden*.
preference: Ich bevorzuge *kurze Stichpunkte*.
preference: Antworte ab jetzt bitte ohne *Anglizismen*.
preference: Am liebsten sind mir Plätze am *Gang*.
old: {n} ist {v}.
old: Wir nehmen erst einmal {v} als {n}.
old: Leg los mit {v} für {n} und zeig mir das Ergebnis.
new: Korrektur: {n} ist jetzt {v}.
new: Nimm {v} statt {o} für {n}.
new: {n} ist nicht mehr {o}, sondern {v}.
new: {n} wurde auf {v} geändert.
noun: Testport|port
noun: Exportordner|path
noun: Wiederholungsgrenze|number
noun: Freigabestand|version
noun: Störungsticket|ticket
noun: Hotelbudget|money
noun: Datenbankhost|host
wrap: Danke, das passt soweit. {x} Mach dann bitte weiter.
wrap: Ich war kurz in einer Besprechung. {x} Sag Bescheid, wenn du fertig bist.
user: Sieht gut aus, weiter so.
user: Kannst du mir den letzten Schritt noch einmal erklären?
user: Was steht in der nächsten Datei?
say: Ich sehe mir zuerst den nächsten Abschnitt der Ausgabe an.
say: Der Lauf war unauffällig, die Werte liegen im üblichen Bereich.
say: Verstanden.
user: Das Diagramm zu {q} zeigt {d} Zeilen, kann das sein?
user: Ich habe gerade {f} überflogen, liest sich gut. Was kommt danach?
say: {q} durchgesehen: {d} Einträge, ein paar doppelt, nichts Auffälliges.
say: {f} hat {d} Zeilen und drei Klassen.
""",
    "fr": """
rule: Ne lance jamais de *migrations* sur {p}.
rule: Il est interdit de copier les *données clients* hors de {p}.
rule: Le dossier *{p}*, tu n'y touches pas.
rule: Tout *remboursement* passe d'abord par Mme Garnier.
fact: {n} : {v}
fact: Pour {n}, la valeur est {v}.
fact: J'ai noté {v} comme {n}.
decision: Nous avons choisi {a} parce que {b} est trop lent.
decision: Ce sera {a} plutôt que {b}, moins cher à exploiter.
decision: Après comparaison on garde {a}, personne ne maîtrise {b}.
task: Il reste à *renouveler le certificat*.
task: Il faut encore *relire le contrat d'hébergement*.
task: À faire : *nettoyer les anciennes sauvegardes*
preference: Je préfère des *listes courtes*.
preference: Désormais, réponds sans *jargon*.
preference: Côté *couloir*, c'est mieux pour moi.
old: {n} est {v}.
old: On part sur {v} pour {n}.
old: Commence avec {v} comme {n} et montre-moi le résultat.
new: Correction : {n} est maintenant {v}.
new: Utilise {v} au lieu de {o} pour {n}.
new: {n} n'est plus {o}, c'est {v}.
new: {n} passe à {v}.
noun: le port de test|port
noun: le dossier d'export|path
noun: le nombre d'essais|number
noun: la version livrée|version
noun: le ticket d'incident|ticket
noun: le budget hôtel|money
wrap: Merci, c'est bien pour l'instant. {x} Continue ensuite.
wrap: Je sors d'une réunion. {x} Dis-moi quand tu as fini.
user: C'est bon, continue.
user: Tu peux m'expliquer la dernière étape ?
user: Que dit le fichier suivant ?
say: Je regarde d'abord la partie suivante de la sortie.
say: Tout s'est déroulé normalement, les chiffres sont habituels.
say: Compris.
user: Le graphique de {q} montre {d} lignes, c'est plausible ?
user: Je viens de parcourir {f}, ça se lit bien. Et après ?
say: J'ai parcouru {q} : {d} entrées, quelques doublons, rien de grave.
say: {f} compte {d} lignes et trois classes.
""",
    "es": """
rule: Nunca ejecutes *migraciones* en {p}.
rule: Está prohibido sacar *datos de clientes* de {p}.
rule: La carpeta *{p}* no se toca.
rule: Los *reembolsos* los firma siempre la señora Olmedo.
fact: {n}: {v}
fact: Para {n} el valor es {v}.
fact: Apunté {v} como {n}.
decision: Decidimos usar {a} porque {b} es demasiado lento.
decision: Será {a} en lugar de {b}, sale más barato.
decision: Tras comparar nos quedamos con {a}, aquí nadie domina {b}.
task: Falta *renovar el certificado*.
task: Todavía hay que *revisar el contrato de hosting*.
task: Pendiente: *limpiar las copias antiguas*
preference: Prefiero *listas cortas*.
preference: De ahora en adelante responde sin *tecnicismos*.
preference: Los asientos de *pasillo* me gustan más.
old: {n} es {v}.
old: Empezamos con {v} como {n}.
old: Haz la primera versión con {v} para {n} y enséñamela.
new: Corrección: {n} ahora es {v}.
new: Usa {v} en lugar de {o} para {n}.
new: {n} ya no es {o}, sino {v}.
new: {n} cambió a {v}.
noun: el puerto de pruebas|port
noun: la carpeta de exportación|path
noun: el límite de reintentos|number
noun: la versión publicada|version
noun: el ticket de incidencia|ticket
noun: el presupuesto de hotel|money
wrap: Gracias, por ahora va bien. {x} Luego sigue.
wrap: Vengo de una reunión. {x} Avísame cuando termines.
user: Está bien, sigue.
user: ¿Puedes explicarme el último paso?
user: ¿Qué dice el archivo siguiente?
say: Primero miro la siguiente parte de la salida.
say: La ejecución fue normal, los números son los de siempre.
say: Entendido.
user: El gráfico de {q} muestra {d} filas, ¿es posible?
user: Acabo de hojear {f}, se lee bien. ¿Qué viene luego?
say: Revisé {q}: {d} entradas, algunas duplicadas, nada grave.
say: {f} tiene {d} líneas y tres clases.
""",
    "zh": """
rule: 绝对不要在{p}上执行*迁移*。
rule: 禁止把*客户资料*复制到{p}外面。
rule: *{p}*目录你别碰。
rule: *退款*一律要先给陈经理签字。
fact: {n}是{v}。
fact: {n}：{v}
fact: 我记下来的{n}为{v}。
decision: 我们决定采用{a}，因为{b}太慢。
decision: 还是选{a}，{b}没人维护。
decision: 比较之后定了{a}，比{b}便宜。
task: 还需要*更新证书*。
task: 待办：*清理旧备份*
task: *合同附件*还没核对。
preference: 我更喜欢*简短的列表*。
preference: 以后回答请用*繁体字*。
preference: 座位给我订*靠过道*的。
old: {n}是{v}。
old: {n}先用{v}。
old: 先按{n}{v}做第一版给我看。
new: 更正：{n}是{v}。
new: {n}改为{v}。
new: {n}不用{o}了，换成{v}。
new: {n}现在是{v}。
noun: 测试端口|port
noun: 导出目录|path
noun: 重试次数|number
noun: 发布版本|version
noun: 故障工单|ticket
noun: 酒店预算|money
wrap: 谢谢，目前没问题。{x}然后继续吧。
wrap: 我刚开完会。{x}做完告诉我。
user: 看起来不错，继续。
user: 能再解释一下最后一步吗？
user: 下一个文件写了什么？
say: 我先看看输出的下一部分。
say: 运行正常，数字都在通常范围内。
say: 明白。
user: {q}的图里有{d}行，正常吗？
user: 我刚翻了一下{f}，写得挺好。后面是什么？
say: 看过{q}了：{d}条记录，有几条重复，没什么问题。
say: {f}有{d}行、三个类。
""",
    "ja": """
rule: {p}では絶対に*マイグレーション*を実行しないでください。
rule: *顧客データ*を{p}の外に出すことは禁止です。
rule: *{p}*フォルダには触らないで。
rule: *返金*は必ず佐藤さんの承認を取ってから。
fact: {n}は{v}です。
fact: {n}：{v}
fact: メモによると{n}が{v}でした。
decision: {b}は遅いので{a}を使うことにしました。
decision: 検討の結果、{a}に決定。{b}は保守する人がいない。
decision: 費用の面で{b}より{a}を選びました。
task: まだ*証明書の更新*が残っています。
task: TODO: *古いバックアップの整理*
task: *契約書の確認*がまだです。
preference: *短い箇条書き*の方が好みです。
preference: 今後は*敬語なし*で答えてください。
preference: 席は*通路側*がいいです。
old: {n}は{v}です。
old: とりあえず{n}は{v}にしておいて。
old: {n}{v}で最初の版を作って見せてください。
new: 訂正：{n}は{v}です。
new: {n}を{v}に変更しました。
new: {n}は{o}ではなく{v}にしてください。
new: {n}は今{v}です。
noun: テスト用ポート|port
noun: 出力フォルダ|path
noun: 再試行回数|number
noun: リリース版|version
noun: 障害チケット|ticket
noun: ホテル予算|money
wrap: ありがとう、今のところ問題ないです。{x}では続けて。
wrap: 会議から戻りました。{x}終わったら教えて。
user: いいですね、続けてください。
user: 最後の手順をもう一度説明してもらえますか？
user: 次のファイルには何が書いてありますか？
say: まず出力の次の部分を見ます。
say: 実行は正常で、数値もいつもの範囲です。
say: 了解しました。
user: {q}のグラフは{d}行ありますが、妥当ですか？
user: {f}をざっと読みました、読みやすいですね。次は何ですか？
say: {q}を確認しました：{d}件、重複が少しありますが問題ありません。
say: {f}は{d}行で、クラスが三つあります。
""",
    "ko": """
rule: {p}에서는 절대 *마이그레이션*을 실행하지 마세요.
rule: *고객 정보*를 {p} 밖으로 복사하는 것은 금지입니다.
rule: *{p}* 폴더는 건드리지 마.
rule: *환불*은 반드시 김 팀장 승인을 받고 진행해.
fact: {n}는 {v}입니다.
fact: {n}: {v}
fact: 메모에 {n} {v}라고 적어 뒀어요.
decision: {b}는 느려서 {a}를 쓰기로 결정했습니다.
decision: 비교해 보니 {a}가 낫네요. {b}는 관리할 사람이 없어요.
decision: 비용 때문에 {b} 대신 {a}를 선택했습니다.
task: 아직 *인증서 갱신*이 남아 있습니다.
task: 할 일: *오래된 백업 정리*
task: *계약서 확인*을 아직 못 했어요.
preference: *짧은 목록*을 선호합니다.
preference: 앞으로는 *반말*로 답해 주세요.
preference: 자리는 *통로 쪽*이 좋아요.
old: {n}는 {v}입니다.
old: 일단 {n}는 {v}로 해 주세요.
old: {n} {v}로 첫 버전을 만들어서 보여 주세요.
new: 정정: {n}는 {v}입니다.
new: {n}를 {v}로 변경했습니다.
new: {n}는 {o}가 아니라 {v}예요.
new: {n}는 이제 {v}입니다.
noun: 테스트 포트|port
noun: 내보내기 폴더|path
noun: 재시도 횟수|number
noun: 배포 버전|version
noun: 장애 티켓|ticket
noun: 호텔 예산|money
wrap: 고마워요, 지금까지 괜찮네요. {x} 그럼 계속해 주세요.
wrap: 회의에서 돌아왔어요. {x} 끝나면 알려 주세요.
user: 좋아요, 계속하세요.
user: 마지막 단계를 다시 설명해 줄래요?
user: 다음 파일에는 뭐라고 되어 있나요?
say: 먼저 출력의 다음 부분을 보겠습니다.
say: 실행은 정상이고 수치도 평소 범위입니다.
say: 알겠습니다.
user: {q} 차트에 {d}행이 보이는데 맞나요?
user: 방금 {f}를 훑어봤는데 잘 읽히네요. 다음은 뭐죠?
say: {q}를 살펴봤습니다: {d}건, 중복이 조금 있지만 문제없습니다.
say: {f}는 {d}줄이고 클래스가 세 개입니다.
""",
    "ru": """
rule: Никогда не запускай *миграции* на {p}.
rule: Запрещено копировать *данные клиентов* из {p}.
rule: Папку *{p}* не трогай.
rule: *Возвраты* подписывает только Марина Сергеевна.
fact: {n}: {v}
fact: {n} — {v}.
fact: Я записал {v} как {n}.
decision: Мы решили взять {a}, потому что {b} слишком медленный.
decision: Будет {a} вместо {b}, так дешевле.
decision: После сравнения остаёмся на {a}, {b} тут никто не знает.
task: Ещё нужно *обновить сертификат*.
task: Осталось *проверить договор хостинга*.
task: Надо бы *почистить старые копии*.
preference: Предпочитаю *короткие списки*.
preference: Отвечай впредь без *англицизмов*.
preference: Место лучше у *прохода*.
old: {n} — {v}.
old: Пока берём {v} как {n}.
old: Сделай первую версию с {v} ({n}) и покажи.
new: Поправка: {n} теперь {v}.
new: Используй {v} вместо {o} ({n}).
new: {n} больше не {o}, а {v}.
new: {n} изменился на {v}.
noun: тестовый порт|port
noun: каталог выгрузки|path
noun: лимит повторов|number
noun: номер релиза|version
noun: тикет сбоя|ticket
noun: бюджет гостиницы|money
wrap: Спасибо, пока всё хорошо. {x} Потом продолжай.
wrap: Вернулся с совещания. {x} Сообщи, когда закончишь.
user: Хорошо, дальше.
user: Объясни ещё раз последний шаг?
user: Что в следующем файле?
say: Сначала посмотрю следующую часть вывода.
say: Запуск прошёл нормально, числа обычные.
say: Понятно.
user: На графике {q} видно {d} строк, это нормально?
user: Только что пролистал {f}, читается хорошо. Что дальше?
say: Просмотрел {q}: {d} записей, есть дубли, ничего страшного.
say: В {f} {d} строк и три класса.
""",
}
