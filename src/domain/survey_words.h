// survey_words.h - what Peal itself says to whoever answers a survey, in the languages it knows.
//
// All else that they read was written by the survey's author, in the survey's languages; these are
// the sentences that no author writes. A language that is not among the columns is spoken to in
// English. {min} and {max} stand for the bounds of the question, or for a place and how many there
// are. To add a sentence, add a row; to add a language, a column here and its tag in
// survey_words.c.
#pragma once

#include "base/str.h"

// clang-format off
// Columns: English, Arabic, German, Spanish, French, Polish, Turkish.
#define SURVEY_WORD_TABLE(X)                                                                       \
    X(NONE, "", "", "", "", "", "", "", "")                                                        \
    /* what is wrong with an answer: the code is told with it */                                   \
    X(REQUIRED, "required",                                                                        \
      "Please answer this question.", "يرجى الإجابة عن هذا السؤال.",                               \
      "Bitte beantworten Sie diese Frage.", "Responda a esta pregunta.",                           \
      "Veuillez répondre à cette question.", "Proszę odpowiedzieć na to pytanie.",                 \
      "Lütfen bu soruyu yanıtlayın.")                                                              \
    X(NOT_SHOWN, "not-shown",                                                                      \
      "This question was not asked.", "لم يُطرح هذا السؤال.",                                      \
      "Diese Frage wurde nicht gestellt.", "Esta pregunta no se ha hecho.",                        \
      "Cette question n’a pas été posée.", "To pytanie nie zostało zadane.",                       \
      "Bu soru sorulmadı.")                                                                        \
    X(UNKNOWN, "unknown-question",                                                                 \
      "There is no such question.", "لا يوجد مثل هذا السؤال.",                                     \
      "Diese Frage gibt es nicht.", "No existe esa pregunta.",                                     \
      "Cette question n’existe pas.", "Nie ma takiego pytania.",                                   \
      "Böyle bir soru yok.")                                                                       \
    X(ONE, "bad-choice",                                                                           \
      "Please choose one of the answers given.", "يرجى اختيار إجابة واحدة من الإجابات المتاحة.",   \
      "Bitte wählen Sie eine der Antworten.", "Elija una de las respuestas.",                      \
      "Veuillez choisir une des réponses.", "Proszę wybrać jedną z odpowiedzi.",                   \
      "Lütfen yanıtlardan birini seçin.")                                                          \
    X(SOME, "bad-choices",                                                                         \
      "Please choose from the answers given.", "يرجى الاختيار من الإجابات المتاحة.",               \
      "Bitte wählen Sie aus den Antworten.", "Elija entre las respuestas.",                        \
      "Veuillez choisir parmi les réponses.", "Proszę wybrać spośród odpowiedzi.",                 \
      "Lütfen yanıtlar arasından seçin.")                                                          \
    X(TWICE, "chosen-twice",                                                                       \
      "Please choose each answer only once.", "يرجى عدم اختيار الإجابة نفسها أكثر من مرة.",        \
      "Bitte wählen Sie jede Antwort nur einmal.", "Elija cada respuesta una sola vez.",           \
      "Veuillez choisir chaque réponse une seule fois.",                                           \
      "Proszę wybrać każdą odpowiedź tylko raz.", "Lütfen her yanıtı yalnızca bir kez seçin.")     \
    X(WHOLE, "bad-whole-number",                                                                   \
      "Please give a whole number from {min} to {max}.", "يرجى إدخال عدد صحيح من {min} إلى {max}.", \
      "Bitte geben Sie eine ganze Zahl von {min} bis {max} an.",                                   \
      "Indique un número entero de {min} a {max}.",                                                \
      "Veuillez donner un nombre entier de {min} à {max}.",                                        \
      "Proszę podać liczbę całkowitą od {min} do {max}.",                                          \
      "Lütfen {min} ile {max} arasında bir tam sayı verin.")                                       \
    X(NUMBER, "bad-number",                                                                        \
      "Please give a number.", "يرجى إدخال رقم.",                                                  \
      "Bitte geben Sie eine Zahl an.", "Indique un número.",                                       \
      "Veuillez donner un nombre.", "Proszę podać liczbę.",                                        \
      "Lütfen bir sayı verin.")                                                                    \
    X(RANGE, "out-of-range",                                                                       \
      "Please give a number from {min} to {max}.", "يرجى إدخال رقم من {min} إلى {max}.",           \
      "Bitte geben Sie eine Zahl von {min} bis {max} an.",                                         \
      "Indique un número de {min} a {max}.", "Veuillez donner un nombre de {min} à {max}.",        \
      "Proszę podać liczbę od {min} do {max}.",                                                    \
      "Lütfen {min} ile {max} arasında bir sayı verin.")                                           \
    X(LEAST, "too-small",                                                                          \
      "Please give a number that is at least {min}.", "يرجى إدخال رقم لا يقل عن {min}.",           \
      "Bitte geben Sie eine Zahl an, die mindestens {min} ist.",                                   \
      "Indique un número que sea al menos {min}.",                                                 \
      "Veuillez donner un nombre d’au moins {min}.",                                               \
      "Proszę podać liczbę nie mniejszą niż {min}.", "Lütfen en az {min} olan bir sayı verin.")    \
    X(MOST, "too-great",                                                                           \
      "Please give a number that is at most {max}.", "يرجى إدخال رقم لا يزيد على {max}.",          \
      "Bitte geben Sie eine Zahl an, die höchstens {max} ist.",                                    \
      "Indique un número que sea como máximo {max}.",                                              \
      "Veuillez donner un nombre d’au plus {max}.",                                                \
      "Proszę podać liczbę nie większą niż {max}.", "Lütfen en çok {max} olan bir sayı verin.")    \
    X(TEXT, "bad-text",                                                                            \
      "Please answer in words.", "يرجى كتابة الإجابة نصًا.",                                       \
      "Bitte antworten Sie mit Worten.", "Responda con palabras.",                                 \
      "Veuillez répondre avec des mots.", "Proszę odpowiedzieć słowami.",                          \
      "Lütfen sözcüklerle yanıtlayın.")                                                            \
    X(LONG, "too-long",                                                                            \
      "Please use no more than {max} characters.", "يرجى ألا تتجاوز الإجابة {max} حرفًا.",         \
      "Bitte verwenden Sie höchstens {max} Zeichen.", "Use como máximo {max} caracteres.",         \
      "Veuillez utiliser au plus {max} caractères.", "Proszę użyć najwyżej {max} znaków.",         \
      "Lütfen en çok {max} karakter kullanın.")                                                    \
    X(DATE, "bad-date",                                                                            \
      "Please give a date as year, month and day: 2026-05-14.",                                    \
      "يرجى إدخال تاريخ بالسنة والشهر واليوم: 2026-05-14.",                                        \
      "Bitte geben Sie ein Datum als Jahr, Monat und Tag an: 2026-05-14.",                         \
      "Indique una fecha con año, mes y día: 2026-05-14.",                                         \
      "Veuillez donner une date avec l’année, le mois et le jour : 2026-05-14.",                   \
      "Proszę podać datę jako rok, miesiąc i dzień: 2026-05-14.",                                  \
      "Lütfen tarihi yıl, ay ve gün olarak verin: 2026-05-14.")                                    \
    /* what stands on the page: these have no code */                                              \
    X(NEXT, "", "Next", "التالي", "Weiter", "Siguiente", "Suivant", "Dalej", "İleri")              \
    X(BACK, "", "Back", "السابق", "Zurück", "Atrás", "Retour", "Wstecz", "Geri")                   \
    X(SEND, "", "Send", "إرسال", "Senden", "Enviar", "Envoyer", "Wyślij", "Gönder")                \
    X(PLACE, "",                                                                                   \
      "Question {min} of {max}", "السؤال {min} من {max}", "Frage {min} von {max}",                 \
      "Pregunta {min} de {max}", "Question {min} sur {max}", "Pytanie {min} z {max}",              \
      "Soru {min} / {max}")                                                                        \
    X(LAST, "",                                                                                    \
      "That was the last question. Please send your answers.",                                     \
      "كان هذا السؤال الأخير. يرجى إرسال إجاباتك.",                                                \
      "Das war die letzte Frage. Bitte senden Sie Ihre Antworten ab.",                             \
      "Esa era la última pregunta. Envíe sus respuestas.",                                         \
      "C’était la dernière question. Veuillez envoyer vos réponses.",                              \
      "To było ostatnie pytanie. Proszę wysłać odpowiedzi.",                                       \
      "Bu son soruydu. Lütfen yanıtlarınızı gönderin.")                                            \
    X(OPTIONAL, "",                                                                                \
      "(optional)", "(اختياري)", "(freiwillig)", "(opcional)", "(facultatif)", "(opcjonalne)",     \
      "(isteğe bağlı)")                                                                            \
    X(IF_IT_APPLIES, "",                                                                           \
      "Please answer only if this applies to you.", "يرجى الإجابة فقط إذا كان هذا ينطبق عليك.",    \
      "Bitte nur beantworten, wenn es auf Sie zutrifft.", "Responda solo si es su caso.",          \
      "Ne répondez que si cela vous concerne.",                                                    \
      "Proszę odpowiedzieć tylko, jeśli to Pani/Pana dotyczy.",                                    \
      "Yalnızca sizin için geçerliyse yanıtlayın.")                                                \
    X(SCALE, "",                                                                                   \
      "{min} is the lowest, {max} the highest.", "{min} هو الأدنى و{max} هو الأعلى.",              \
      "{min} ist am niedrigsten, {max} am höchsten.",                                              \
      "{min} es lo más bajo y {max} lo más alto.",                                                 \
      "{min} est le plus bas, {max} le plus haut.",                                                \
      "{min} to najniższa, a {max} najwyższa ocena.", "{min} en düşük, {max} en yüksek.")          \
    X(LIKELY, "",                                                                                  \
      "{min}: not at all likely. {max}: extremely likely.",                                        \
      "{min}: غير محتمل إطلاقًا. {max}: محتمل جدًا.",                                              \
      "{min}: äußerst unwahrscheinlich. {max}: äußerst wahrscheinlich.",                           \
      "{min}: nada probable. {max}: muy probable.",                                                \
      "{min} : pas du tout probable. {max} : très probable.",                                      \
      "{min}: bardzo mało prawdopodobne. {max}: bardzo prawdopodobne.",                            \
      "{min}: hiç olası değil. {max}: çok olası.")                                                 \
    X(ERROR, "", "Error", "خطأ", "Fehler", "Error", "Erreur", "Błąd", "Hata")                      \
    X(PROBLEM, "",                                                                                 \
      "There is a problem", "توجد مشكلة", "Da stimmt etwas nicht", "Hay un problema",              \
      "Il y a un problème", "Wystąpił problem", "Bir sorun var")                                   \
    X(LANGUAGE, "", "Language", "اللغة", "Sprache", "Idioma", "Langue", "Język", "Dil")            \
    X(THANKS, "",                                                                                  \
      "Thank you. Your answers were received.", "شكرًا لك. تم استلام إجاباتك.",                    \
      "Vielen Dank. Ihre Antworten sind angekommen.", "Gracias. Hemos recibido sus respuestas.",   \
      "Merci. Vos réponses ont été reçues.", "Dziękujemy. Odpowiedzi dotarły.",                    \
      "Teşekkürler. Yanıtlarınız alındı.")                                                         \
    X(OVER, "",                                                                                    \
      "This survey has ended. It takes no more answers.",                                          \
      "انتهى هذا الاستبيان، ولم يعد يقبل الإجابات.",                                               \
      "Diese Umfrage ist beendet. Sie nimmt keine Antworten mehr an.",                             \
      "Esta encuesta ha terminado y ya no admite respuestas.",                                     \
      "Cette enquête est terminée et n’accepte plus de réponses.",                                 \
      "Ta ankieta została zakończona i nie przyjmuje już odpowiedzi.",                             \
      "Bu anket sona erdi; artık yanıt kabul etmiyor.")                                            \
    X(NOBODY, "",                                                                                  \
      "There is no survey at this address. Please check the link.",                                \
      "لا يوجد استبيان على هذا العنوان. يرجى التحقق من الرابط.",                                   \
      "Unter dieser Adresse gibt es keine Umfrage. Bitte prüfen Sie den Link.",                    \
      "No hay ninguna encuesta en esta dirección. Compruebe el enlace.",                           \
      "Il n’y a pas d’enquête à cette adresse. Veuillez vérifier le lien.",                        \
      "Pod tym adresem nie ma ankiety. Proszę sprawdzić link.",                                    \
      "Bu adreste bir anket yok. Lütfen bağlantıyı denetleyin.")                                   \
    X(MISREAD, "",                                                                                 \
      "What was sent could not be understood. Please open the link again.",                        \
      "تعذّر فهم ما أُرسل. يرجى فتح الرابط من جديد.",                                              \
      "Was gesendet wurde, war nicht zu verstehen. Bitte öffnen Sie den Link noch einmal.",        \
      "No se ha entendido lo que se envió. Abra el enlace de nuevo.",                              \
      "Ce qui a été envoyé n’a pas été compris. Veuillez rouvrir le lien.",                        \
      "Nie udało się odczytać tego, co zostało wysłane. Proszę otworzyć link ponownie.",           \
      "Gönderilenler anlaşılamadı. Lütfen bağlantıyı yeniden açın.")                               \
    X(TOO_MUCH, "",                                                                                \
      "Your answers are too long. Please go back and shorten them.",                               \
      "إجاباتك أطول مما يمكن إرساله. يرجى العودة واختصارها.",                                      \
      "Ihre Antworten sind zu lang. Bitte gehen Sie zurück und kürzen Sie sie.",                   \
      "Sus respuestas son demasiado largas. Vuelva atrás y acórtelas.",                            \
      "Vos réponses sont trop longues. Veuillez revenir en arrière et les raccourcir.",            \
      "Odpowiedzi są za długie. Proszę wrócić i je skrócić.",                                      \
      "Yanıtlarınız çok uzun. Lütfen geri dönüp kısaltın.")                                        \
    X(CROWDED, "",                                                                                 \
      "Too many requests came from your network. Please try again in a minute.",                   \
      "وردت طلبات كثيرة جدًا من شبكتك. يرجى المحاولة مرة أخرى بعد دقيقة.",                         \
      "Aus Ihrem Netz kamen zu viele Anfragen. Bitte versuchen Sie es in einer Minute noch einmal.", \
      "Han llegado demasiadas solicitudes desde su red. Inténtelo de nuevo dentro de un minuto.",  \
      "Trop de demandes sont venues de votre réseau. Veuillez réessayer dans une minute.",         \
      "Z tej sieci przyszło zbyt wiele zapytań. Proszę spróbować ponownie za minutę.",             \
      "Ağınızdan çok fazla istek geldi. Lütfen bir dakika sonra yeniden deneyin.")                 \
    X(DOWN, "",                                                                                    \
      "This does not work at the moment. Please try again in a few minutes.",                      \
      "الخدمة غير متاحة في الوقت الحالي. يرجى المحاولة مرة أخرى بعد بضع دقائق.",                   \
      "Das geht im Moment nicht. Bitte versuchen Sie es in einigen Minuten noch einmal.",          \
      "Esto no funciona en este momento. Inténtelo de nuevo dentro de unos minutos.",              \
      "Le service est indisponible pour le moment. Veuillez réessayer dans quelques minutes.",     \
      "W tej chwili to nie działa. Proszę spróbować ponownie za kilka minut.",                     \
      "Şu anda kullanılamıyor. Lütfen birkaç dakika sonra yeniden deneyin.")
// clang-format on

typedef enum SurveyWord {
#define SURVEY_WORD_ENUM(name, code, ...) SURVEY_WORD_##name,
    SURVEY_WORD_TABLE(SURVEY_WORD_ENUM)
#undef SURVEY_WORD_ENUM
} SurveyWord;

const char *survey_word_code(SurveyWord word);

// survey_word_text is the sentence in a language (ar-SA is spoken to in ar), with its bounds put
// in. survey_word_language is the language that it is in.
Str survey_word_text(Arena *arena, SurveyWord word, Str language, double min, double max);
Str survey_word_language(Str language);
